// Tests shares and a scatter that a learner has written.

#define main main_of_the_recipe
#include "mpi_scatter.cpp"
#undef main

#include <algorithm>
#include <random>

using judge::expect;

namespace {

bool whole_list = false;
int its_count = 0;  // how many numbers this rank has to get

void receives(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  whole_list = whole_list || static_cast<long>(count) * size > (its_count + 1L) * static_cast<long>(sizeof(int));
}

void shares() {
  for (const int ranks : {1, 2, 3, 10}) {
    for (const int total : {0, 1, 2, 9, 10, 11, 23, 1000, 100'000}) {
      const std::string what = std::to_string(total) + " numbers for " + std::to_string(ranks) + " ranks: ";
      const Shares found = shares_of(total, ranks);
      expect(found.counts.size() == static_cast<std::size_t>(ranks) && found.starts.size() == found.counts.size(),
             what + "there is not one share for each rank.");
      int sum = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        expect(found.counts[rank] >= 0, what + "a share has fewer than 0 numbers.");
        sum += found.counts[rank];
      }
      expect(sum == total, what + "all the shares have " + std::to_string(sum) + " numbers together.");
      const auto [least, most] = std::minmax_element(found.counts.begin(), found.counts.end());
      expect(*most - *least <= 1, what + "the shares differ by more than one number.");
      expect(std::is_sorted(found.counts.rbegin(), found.counts.rend()),
             what + "it is not the first ranks that get one more.");
      int begin = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        expect(found.counts[rank] == 0 || found.starts[rank] == begin,
               what + "a share does not begin where the one before it ends.");
        begin += found.counts[rank];
      }
    }
  }
}

/// The root has random numbers, which no other rank knows.
void scatter(int rank, int ranks) {
  std::mt19937 random(11);
  for (const int total : {0, 7, 23, 100'000}) {
    for (const int root : {0, ranks - 1}) {
      std::vector<int> list(total);
      for (int& number : list) number = static_cast<int>(random() >> 1);
      const Shares its = shares_of(total, ranks);
      const std::vector<int> expected(list.begin() + its.starts[rank] * (its.counts[rank] > 0),
                                      list.begin() + its.starts[rank] * (its.counts[rank] > 0) + its.counts[rank]);
      its_count = its.counts[rank];
      const std::vector<int> share = scatter_all(rank == root ? list : std::vector<int>(), its, root, rank);
      expect(share == expected, "With " + std::to_string(total) + " numbers of rank " + std::to_string(root) +
                                    " a rank gets what is not its share of them.");
      expect(!whole_list, "A rank gets more than its share: the list goes to every rank.");
      MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
    }
  }
}

}  // namespace

// These stand before MPI's own functions (MPI 4.0, chapter 15).
extern "C" int MPI_Scatterv(const void* out, const int* counts, const int* starts, MPI_Datatype out_type, void* in,
                            int count, MPI_Datatype type, int root, MPI_Comm comm) {
  receives(count, type);
  return PMPI_Scatterv(out, counts, starts, out_type, in, count, type, root, comm);
}

extern "C" int MPI_Scatter(const void* out, int out_count, MPI_Datatype out_type, void* in, int count,
                           MPI_Datatype type, int root, MPI_Comm comm) {
  receives(count, type);
  return PMPI_Scatter(out, out_count, out_type, in, count, type, root, comm);
}

extern "C" int MPI_Recv(void* in, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Status* status) {
  receives(count, type);
  return PMPI_Recv(in, count, type, rank, tag, comm, status);
}

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  return PMPI_Issend(data, count, type, rank, tag, comm, request);
}

extern "C" int MPI_Request_free(MPI_Request* request) {
  int done = 0;
  PMPI_Request_get_status(*request, &done, MPI_STATUS_IGNORE);
  expect(done != 0, "The root does not wait for what it has begun to send, and its list may be gone meanwhile.");
  return PMPI_Request_free(request);
}

extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm) {
  return PMPI_Ssend(data, count, type, rank, tag, comm);  // it must not rely on copies that MPI makes
}

extern "C" int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  whole_list = whole_list || count > 1;
  return PMPI_Bcast(data, count, type, root, comm);
}

int main() {
  const mpi::Environment world;
  shares();
  scatter(world.rank(), world.size());
  if (world.rank() == 0) cookbook::println("every number is dealt out once");
  return 0;
}

// Tests shares and a scatter that a learner has written.

#define main main_of_the_recipe
#include "mpi_scatter.cpp"
#undef main

#include <algorithm>
#include <random>

using judge::expect;

namespace {

bool whole_list = false;

void shares() {
  for (const int ranks : {1, 2, 3, 10}) {
    for (const int total : {0, 1, 2, 9, 10, 11, 23, 1000}) {
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
  for (const int total : {0, 7, 23, 20'000}) {
    for (const int root : {0, ranks - 1}) {
      std::vector<int> list(total);
      for (int& number : list) number = static_cast<int>(random() >> 1);
      const Shares its = shares_of(total, ranks);
      const std::vector<int> expected(list.begin() + its.starts[rank] * (its.counts[rank] > 0),
                                      list.begin() + its.starts[rank] * (its.counts[rank] > 0) + its.counts[rank]);
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

// Tests a ring all-reduce that a learner has written.

#include "ring_all_reduce.hpp"

#include <algorithm>

using judge::expect;

namespace {

long sent = 0, longest = 0;  // numbers, by this rank: all together, and in one message
int target = -1;
bool collective = false;
int rank_here = 0, ranks_here = 0;

void count(int length, MPI_Datatype type, int to) {
  int size = 0;
  PMPI_Type_size(type, &size);
  const long numbers = static_cast<long>(length) * size / static_cast<long>(sizeof(double));
  sent += numbers;
  longest = std::max(longest, numbers);
  expect(to == (rank_here + 1) % ranks_here || to == (rank_here - 1 + ranks_here) % ranks_here,
         "A rank sends to one that is not beside it.");
  expect(target < 0 || target == to, "A rank sends to two others, and not to the next one only.");
  target = to;
}

}  // namespace

// These stand before MPI's own functions (MPI 4.0, chapter 15), and count.
extern "C" int MPI_Ssend(const void* data, int length, MPI_Datatype type, int rank, int tag, MPI_Comm comm) {
  count(length, type, rank);
  return PMPI_Ssend(data, length, type, rank, tag, comm);
}

extern "C" int MPI_Send(const void* data, int length, MPI_Datatype type, int rank, int tag, MPI_Comm comm) {
  return MPI_Ssend(data, length, type, rank, tag, comm);  // it must not rely on copies that MPI makes
}

extern "C" int MPI_Issend(const void* data, int length, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                          MPI_Request* request) {
  count(length, type, rank);
  return PMPI_Issend(data, length, type, rank, tag, comm, request);
}

extern "C" int MPI_Isend(const void* data, int length, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  return MPI_Issend(data, length, type, rank, tag, comm, request);
}

extern "C" int MPI_Sendrecv(const void* out, int length, MPI_Datatype type, int to, int tag, void* in, int in_length,
                            MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
  count(length, type, to);
  return PMPI_Sendrecv(out, length, type, to, tag, in, in_length, in_type, from, in_tag, comm, status);
}

extern "C" int MPI_Sendrecv_replace(void* data, int length, MPI_Datatype type, int to, int tag, int from, int in_tag,
                                    MPI_Comm comm, MPI_Status* status) {
  count(length, type, to);
  return PMPI_Sendrecv_replace(data, length, type, to, tag, from, in_tag, comm, status);
}

extern "C" int MPI_Allreduce(const void* out, void* in, int length, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  collective = true;
  return PMPI_Allreduce(out, in, length, type, op, comm);
}

extern "C" int MPI_Reduce(const void* out, void* in, int length, MPI_Datatype type, MPI_Op op, int root,
                          MPI_Comm comm) {
  collective = true;
  return PMPI_Reduce(out, in, length, type, op, root, comm);
}

int main() {
  const mpi::Environment world;
  rank_here = world.rank();
  ranks_here = world.size();
  for (const std::size_t length : {1UL, 7UL, static_cast<std::size_t>(ranks_here), 50'000UL}) {
    Numbers mine(length), total(length, -1);
    for (std::size_t i = 0; i < length; ++i) mine[i] = static_cast<double>(i % 100) * (rank_here + 1);
    const Numbers before = mine;
    sent = longest = 0;
    ring_all_reduce(mine, total, rank_here, ranks_here);
    expect(!collective, "A reduction of MPI's is what you are to write yourself.");
    expect(mine == before, "The array of this rank has changed.");
    for (std::size_t i = 0; i < length; ++i) {
      const double sum = static_cast<double>(i % 100) * ranks_here * (ranks_here + 1) / 2;
      expect(total[i] == sum, "A rank does not have the right sum.");
    }
    // In each of 2 * (ranks - 1) steps a rank sends a piece, which is a number longer where the pieces are not equal.
    expect(sent <= 2 * (ranks_here - 1) * (static_cast<long>(length) / ranks_here + 1),
           "A rank sends more than two pieces for each other rank: cut the array into pieces, one for each rank.");
    expect(longest <= (static_cast<long>(length) + ranks_here - 1) / ranks_here,
           "A piece is too long: the pieces differ by one number at most.");
    expect(sent >= 2 * (ranks_here - 1) * (static_cast<long>(length) / ranks_here),
           "The pieces do not go from rank to rank: a rank sends fewer than two for each other rank.");
  }
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank_here == 0) cookbook::println("every rank has the sum");
  return 0;
}

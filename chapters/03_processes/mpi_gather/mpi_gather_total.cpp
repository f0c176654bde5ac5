// Pitfall: the total in place of the count
//
// MPI_Gather takes two counts: how much this rank sends, and how much the root receives from each rank. This program
// gives the total for the second. So the root leaves room for five numbers per rank, and puts rank 1's number at
// place 5. No call reports an error. The list has room for 25 numbers here; with room for five, the call would write
// far beyond its end.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_gather/mpi_gather_total.cpp common/cookbook/*.cpp -lfmt -o mpi_gather_total
// Run:     mpirun -n 5 mpi_gather_total
// Symptom: exit 1, prints "gathered: [1, -1, -1, -1, -1"

#include <vector>

#include "cookbook/mpi.hpp"

int main() {
  const mpi::Environment world(2);
  const int rank = world.rank(), ranks = world.size();
  const int mine = (rank + 1) * (rank + 1);
  std::vector<int> all(ranks * ranks, -1);

  MPI_CHECK(MPI_Gather(&mine, 1, MPI_INT, all.data(), ranks, MPI_INT, 0, MPI_COMM_WORLD));  // wrong: 1, not ranks

  const bool right = rank != 0 || all[1] == 4;
  if (rank == 0) cookbook::println("gathered: {}", all);
  return right ? 0 : 1;
}

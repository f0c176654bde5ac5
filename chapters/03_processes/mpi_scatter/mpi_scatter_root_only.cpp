// Pitfall: only the root refuses
//
// The root has two lists, one full of 1 and one full of 2. The first one has seven numbers, too few for ten ranks: the
// root notices, says so and goes on with the second one. The other ranks are in MPI_Scatter for the first list, and get
// their number of the second. Then they wait for another one, and the root waits for them when MPI is to end. An error
// on one rank is not seen by the others: either all ranks learn of it, or that rank calls MPI_Abort.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_scatter/mpi_scatter_root_only.cpp common/cookbook/*.cpp -lfmt -o mpi_scatter_root_only
// Run:     mpirun -n 10 mpi_scatter_root_only, then Ctrl-C
// Symptom: hangs

#include <vector>

#include "cookbook/mpi.hpp"

int main() {
  const mpi::Environment world(4);
  const int ranks = world.size();
  int number = 0, dealt_out = 0;
  for (const int missing : {3, 0}) {
    ++number;
    std::vector<int> list;
    if (world.rank() == 0) list.assign(ranks - missing, number);  // on the root alone, as if read from a file

    if (world.rank() == 0 && std::ssize(list) != ranks) {  // wrong: the others do not learn of it
      cookbook::println("expecting {} items, got {}", ranks, list.size());
      continue;
    }
    int mine = 0;
    MPI_CHECK(MPI_Scatter(list.data(), 1, MPI_INT, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD));
    cookbook::println("list {}: rank {} has {}", number, world.rank(), mine);
    ++dealt_out;
  }
  if (world.rank() == 0) cookbook::println("lists dealt out: {} of 2", dealt_out);
  return 0;
}

// Pitfall: only the root refuses
//
// The root has a list of seven numbers, too few for ten ranks. It notices, says so and returns. The other ranks are in
// MPI_Scatter and wait for their number, and the root waits for them in MPI_Finalize. An error on one rank does not end
// an MPI program: either all ranks learn of it, or the one calls MPI_Abort.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_scatter/mpi_scatter_root_only.cpp common/cookbook/*.cpp -lfmt -o mpi_scatter_root_only
// Run:     mpirun -n 10 mpi_scatter_root_only, then Ctrl-C
// Symptom: hangs

#include <vector>

#include "mpi_session.hpp"

int main() {
  const mpi::Session session(4);
  const int ranks = session.ranks(), items = ranks - 3;
  const std::vector<int> list(session.rank() == 0 ? items : 0, 1);

  if (session.rank() == 0 && items != ranks) {  // wrong: the others do not learn of it
    cookbook::println("expecting {} items, got {}", ranks, items);
    return 2;
  }
  int mine = 0;
  CHECK_MPI(MPI_Scatter(list.data(), 1, MPI_INT, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD));
  cookbook::println("rank {} has {}", session.rank(), mine);
  return 0;
}

// A scatter that only its root refuses
//
// The root has a list of seven numbers, too few for the ten ranks. It notices, says so and gives up. But the other
// ranks are in MPI_Scatter already and wait for their piece. The root in turn waits for them at the end of MPI. An
// error on one rank does not end an MPI program: either all ranks learn of it, as in mpi_scatter.cpp, or the one calls
// MPI_Abort.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_scatter/mpi_scatter_root_only.cpp common/cookbook/*.cpp -lfmt -o mpi_scatter_root_only
// Run:     mpirun -n 10 mpi_scatter_root_only
// Symptom: hangs

#include <vector>

#include "mpi_session.hpp"

int main() {
  const mpi::Session session(2);
  const int ranks = session.ranks(), items = ranks - 3;
  const std::vector<int> list(session.rank() == 0 ? static_cast<std::size_t>(items) : 0, 1);

  if (session.rank() == 0 && items != ranks) {  // the fault: only the root looks
    cookbook::println("expecting {} items, got {}", ranks, items);
    return 2;
  }
  int mine = 0;
  CHECK_MPI(MPI_Scatter(list.data(), 1, MPI_INT, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD));
  cookbook::println("process = {} recvbuf = {}", session.rank(), mine);
  return 0;
}

// Nobody is not -1
//
// In a mesh of 2 x 2 each rank has two neighbours. This program counts those that are not -1, as the source's output
// suggests. MPI has a name for "no process", MPI_PROC_NULL, and each library its own number: -1 in MPICH, -2 in Open
// MPI. With that, all four sides count. No call fails, since a message to MPI_PROC_NULL is no message, and the mean
// over the neighbours comes out half as large as it is.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_topology/mpi_topology_minus_one.cpp common/cookbook/*.cpp -lfmt -o mpi_topology_minus_one
// Run:     mpirun -n 4 mpi_topology_minus_one
// Symptom: exit 1, prints "process 0 has 4 neighbours"

#include <array>

#include "collective.hpp"
#include "mpi_session.hpp"

int main() {
  const mpi::Session session(4);
  const int sizes[] = {2, 2}, closed[] = {0, 0};
  MPI_Comm grid;
  CHECK_MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, closed, 0, &grid));
  int count = 2;
  std::string line;
  if (grid != MPI_COMM_NULL) {
    std::array<int, 4> neighbours;
    CHECK_MPI(MPI_Cart_shift(grid, 0, 1, &neighbours[0], &neighbours[1]));
    CHECK_MPI(MPI_Cart_shift(grid, 1, 1, &neighbours[2], &neighbours[3]));
    double sum = 0;
    count = 0;
    for (const int neighbour : neighbours) {
      if (neighbour == -1) continue;  // the fault: MPI_PROC_NULL
      const double mine = 10;
      double theirs = 0;
      CHECK_MPI(MPI_Sendrecv(&mine, 1, MPI_DOUBLE, neighbour, 1, &theirs, 1, MPI_DOUBLE, neighbour, 1, grid,
                             MPI_STATUS_IGNORE));
      sum += theirs;
      ++count;
    }
    line = fmt::format("process {} has {} neighbours, who have {} each", session.rank(), count, sum / count);
  }
  session.print_in_order(line);
  return collective::everywhere(count == 2) ? 0 : 1;
}

// Pitfall: a rank without a place uses the grid
//
// Twelve ranks and a grid with 5 rows: there are ranks for 2 columns, so 10 ranks have a place. MPI_Cart_create gives
// the last two no communicator but MPI_COMM_NULL, and a call with that is an error. With 5, 10 or 15 ranks all is well,
// so the mistake may stay unnoticed.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_topology/mpi_topology_left_over.cpp common/cookbook/*.cpp -lfmt -o mpi_topology_left_over
// Run:     mpirun -n 12 mpi_topology_left_over
// Symptom: exit 3, prints "MPI_Comm_rank: "

#include "cookbook/mpi.hpp"

int main() {
  const mpi::Environment world(5);
  const int sizes[] = {5, world.size() / 5}, wraps_around[] = {0, 0};
  MPI_Comm grid;
  MPI_CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, wraps_around, 0, &grid));
  // Missing: what a rank does whose `grid` is MPI_COMM_NULL.
  int rank, place[2];
  MPI_CHECK(MPI_Comm_rank(grid, &rank));
  MPI_CHECK(MPI_Cart_coords(grid, rank, 2, place));
  cookbook::println("rank {} is at ({}, {})", rank, place[0], place[1]);
  return 0;
}

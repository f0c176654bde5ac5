// Pitfall: the halo is read too early
//
// MPI_Irecv and MPI_Isend only begin a transfer. This program computes the border cells before it waits, so it reads
// neighbours' temperatures of an earlier step. No call returns an error, and with one rank, which has no neighbours,
// the result is right.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_halo_exchange/mpi_halo_exchange_early.cpp common/cookbook/*.cpp -lfmt -o mpi_halo_exchange_early
// Run:     mpirun -n 4 mpi_halo_exchange_early
// Symptom: exit 1, prints "some of the 61103 cells are wrong"

#include "cookbook/mpi.hpp"
#include "plate.hpp"
#include "tile.hpp"

int main() {
  const mpi::Environment world;
  constexpr int rows = 203, columns = 301, steps = 100;
  Tile tile(MPI_COMM_WORLD, rows, columns);
  for (int step = 0; step < steps; ++step) {
    tile.begin_exchange();
    tile.work_inside();
    tile.work_at_the_border();  // wrong: it reads the halo, so end_exchange() must come first
    tile.end_exchange();
    tile.step();
  }
  const long wrong = mpi::sum_over_ranks(differing(tile.now(), heat_serially(rows, columns, steps)));
  if (world.rank() == 0 && wrong == 0) cookbook::println("all cells are right");
  if (world.rank() == 0 && wrong > 0) cookbook::println("some of the {} cells are wrong", rows * columns);
  return wrong > 0 ? 1 : 0;
}

// Halo exchange
//
// Heat spreads over a plate of cells: in each time step a cell takes a little of its four neighbours' temperatures. The
// plate is cut into tiles, one per rank. The cells at a tile's border have neighbours that another rank owns, so before
// each step the ranks exchange their outermost cells. Before it waits for them, each rank computes all cells that do
// not need them. The result has the same bits as that of the serial program.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_halo_exchange/mpi_halo_exchange.cpp common/cookbook/*.cpp -lfmt -o mpi_halo_exchange
// Run:     mpirun -n 4 mpi_halo_exchange [--rows N] [--columns N] [--steps N]

#include <algorithm>
#include <string>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "plate.hpp"
#include "tile.hpp"

int main(int argc, char** argv) {
  int rows = 203, columns = 301, steps = 100;
  cookbook::Options options("Spread heat over a plate that is cut into tiles, one per rank");
  options.add("rows", rows, "rows of the plate", 1, 4000);
  options.add("columns", columns, "columns of the plate", 1, 4000);
  options.add("steps", steps, "time steps", 0, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  if (std::min(rows, columns) < world.size()) {
    return world.usage_error(fmt::format("the plate has fewer rows or columns than ranks, {}", world.size()));
  }

  Tile plain(MPI_COMM_WORLD, rows, columns), overlapped(MPI_COMM_WORLD, rows, columns);
  const Area& area = plain.area();
  const auto name = [](int rank) { return rank == MPI_PROC_NULL ? "-" : std::to_string(rank); };
  world.print_in_order(fmt::format("rank {}: rows {} to {}, columns {} to {}; above {} below {} left {} right {}",
                                   world.rank(), area.top, area.bottom - 1, area.left, area.right - 1,
                                   name(plain.rank_above), name(plain.rank_below), name(plain.rank_left),
                                   name(plain.rank_right)));

  for (int step = 0; step < steps; ++step) exchange_then_work(plain);
  for (int step = 0; step < steps; ++step) exchange_during_work(overlapped);

  const Cells serial = heat_serially(rows, columns, steps);  // each rank computes the whole plate, to compare its tile
  const long cells = mpi::sum_over_ranks((area.bottom - area.top) * (area.right - area.left));
  const long wrong = mpi::sum_over_ranks(differing(plain.now(), serial));
  const long wrong_overlapped = mpi::sum_over_ranks(differing(overlapped.now(), serial));
  cookbook::Checks checks;
  if (world.rank() == 0) {
    checks.equal("cells of all tiles together", cells, static_cast<long>(rows) * columns);
    checks.equal("cells that differ from the serial result in any bit, exchange before the work", wrong, 0);
    checks.equal("cells that differ from the serial result in any bit, exchange during the work", wrong_overlapped, 0);
  }
  return world.exit_code(checks);
}

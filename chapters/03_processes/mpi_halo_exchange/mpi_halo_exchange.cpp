// Halo exchange
//
// Heat spreads over a plate of cells: in each time step a cell takes a little of its four neighbours' temperatures. The
// plate is cut into tiles, one per rank. The cells at a tile's border have neighbours that another rank owns, so before
// each step the ranks exchange their outermost cells. The program draws which cells are wrong if they do not, after
// each of the last two steps, and if they do. It checks that with an exchange, before or during the work, all cells
// have the bits of the serial result.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_halo_exchange/mpi_halo_exchange.cpp common/cookbook/*.cpp -lfmt -o mpi_halo_exchange
// Run:     mpirun -n 4 mpi_halo_exchange [--rows N] [--columns N] [--steps N]

#include <algorithm>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "picture.hpp"
#include "plate.hpp"
#include "tile.hpp"

int main(int argc, char** argv) {
  int rows = 8, columns = 24, steps = 3;
  cookbook::Options options("Spread heat over a plate that is cut into tiles, one per rank");
  options.add("rows", rows, "rows of the plate", 1, 4000);
  options.add("columns", columns, "columns of the plate; it is drawn if it has no more than 40 x 40 cells", 1, 4000);
  options.add("steps", steps, "time steps", 0, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  if (std::min(rows, columns) < world.size()) {
    return world.usage_error(fmt::format("the plate has fewer rows or columns than ranks, {}", world.size()));
  }
  if (rows <= 40 && columns <= 40) {
    draw({{"without an exchange", without_exchange, steps - 1},
          {"without an exchange", without_exchange, steps},
          {"with an exchange", exchange_then_work, steps}},
         rows, columns, world);
  }

  const Cells serial = heat_serially(rows, columns, steps);  // each rank computes the whole plate, to compare its tile
  const auto right_after = [&](void (*time_step)(Tile&)) {
    const Cells tile = tile_after(steps, time_step, rows, columns);
    const auto [top, bottom, left, right] = tile.area();
    return mpi::sum_over_ranks((bottom - top) * (right - left) - differing(tile, serial));
  };
  const long before = right_after(exchange_then_work), during = right_after(exchange_during_work);
  cookbook::Checks checks;
  if (world.rank() == 0) {
    checks.equal("right cells, exchange before the work", before, 1L * rows * columns);
    checks.equal("right cells, exchange during the work", during, 1L * rows * columns);
  }
  return world.exit_code(checks);
}

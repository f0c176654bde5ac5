// Halo exchange
//
// Heat spreads over a plate of cells: in each time step a cell takes a little of its four neighbours' temperatures. The
// plate is cut into tiles, one per rank. The cells at a tile's border have neighbours that another rank owns, so before
// each step the ranks exchange their outermost cells. The program draws which cells are wrong if they do not, and
// checks that with an exchange, before or during the work, all cells have the bits of the serial result.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_halo_exchange/mpi_halo_exchange.cpp common/cookbook/*.cpp -lfmt -o mpi_halo_exchange
// Run:     mpirun -n 4 mpi_halo_exchange [--rows N] [--columns N] [--steps N]

#include <algorithm>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "plate.hpp"
#include "tile.hpp"

namespace {

/// The naive form: each rank computes its tile with the halo that it had at the start.
void without_exchange(Tile& tile) {
  tile.work_inside();
  tile.work_at_the_border();
  tile.step();
}

/// This rank's tile after so many time steps of one form.
Cells after(int steps, void (*time_step)(Tile&), int rows, int columns) {
  Tile tile(MPI_COMM_WORLD, rows, columns);
  for (int step = 0; step < steps; ++step) time_step(tile);
  return tile.now();
}

/// Rank 0 prints the plate, a character per cell: # where the tile of its rank has other bits than the whole plate.
/// Called by all ranks.
void draw_differing(const Cells& tile, const Cells& plate, const mpi::Environment& world) {
  const auto [top, bottom, left, right] = tile.area();
  const int rows = plate.area().bottom - 1, columns = plate.area().right - 1;
  std::vector<signed char> mine(rows * columns), all(mine);  // 0: the cell of another rank
  for (int row = top; row < bottom; ++row) {
    for (int column = left; column < right; ++column) {
      mine[(row - 1) * columns + column - 1] = same_bits(tile.at(row, column), plate.at(row, column)) ? '.' : '#';
    }
  }
  MPI_CHECK(MPI_Reduce(mine.data(), all.data(), rows * columns, MPI_SIGNED_CHAR, MPI_MAX, 0, MPI_COMM_WORLD));
  for (int row = 0; world.rank() == 0 && row < rows; ++row) {
    cookbook::print_line(std::string(all.begin() + row * columns, all.begin() + (row + 1) * columns));
  }
}

/// What this rank says about its tile and its neighbours.
std::string text(const Tile& tile) {
  const auto [top, bottom, left, right] = tile.area();
  const auto name = [](int neighbour) { return neighbour == MPI_PROC_NULL ? "-" : std::to_string(neighbour); };
  return fmt::format("rank {}: rows {} to {}, columns {} to {}; above {} below {} left {} right {}", tile.rank, top,
                     bottom - 1, left, right - 1, name(tile.rank_above), name(tile.rank_below), name(tile.rank_left),
                     name(tile.rank_right));
}

}  // namespace

int main(int argc, char** argv) {
  int rows = 8, columns = 40, steps = 3;
  cookbook::Options options("Spread heat over a plate that is cut into tiles, one per rank");
  options.add("rows", rows, "rows of the plate", 1, 4000);
  options.add("columns", columns, "columns of the plate; it is drawn if it has no more than 40 x 100 cells", 1, 4000);
  options.add("steps", steps, "time steps", 0, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  if (std::min(rows, columns) < world.size()) {
    return world.usage_error(fmt::format("the plate has fewer rows or columns than ranks, {}", world.size()));
  }
  world.print_in_order(text(Tile(MPI_COMM_WORLD, rows, columns)));

  const Cells serial = heat_serially(rows, columns, steps);  // each rank computes the whole plate, to compare its tile
  const Cells alone = after(steps, without_exchange, rows, columns);
  const Cells before = after(steps, exchange_then_work, rows, columns);
  const Cells during = after(steps, exchange_during_work, rows, columns);

  const long wrong_alone = mpi::sum_over_ranks(differing(alone, serial));
  if (world.rank() == 0)
    cookbook::println("without an exchange {} cells are wrong after {} steps:", wrong_alone, steps);
  if (rows <= 40 && columns <= 100) draw_differing(alone, serial, world);

  const auto [top, bottom, left, right] = during.area();
  const long cells = mpi::sum_over_ranks(1L * (bottom - top) * (right - left));
  const long wrong_before = mpi::sum_over_ranks(differing(before, serial));
  const long wrong_during = mpi::sum_over_ranks(differing(during, serial));
  cookbook::Checks checks;
  if (world.rank() == 0) {
    checks.equal("cells of all tiles together", cells, 1L * rows * columns);
    checks.equal("wrong cells, exchange before the work", wrong_before, 0);
    checks.equal("wrong cells, exchange during the work", wrong_during, 0);
  }
  return world.exit_code(checks);
}

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

/// The plate as lines on rank 0, a character per cell: # where the tile of its rank has other bits than the whole
/// plate; and lines between the tiles. Called by all ranks.
std::vector<std::string> picture_of(const Cells& tile, const Cells& plate) {
  const auto [top, bottom, left, right] = tile.area();
  const int rows = plate.area().bottom - 1, columns = plate.area().right - 1;
  std::vector<signed char> mine(rows * columns), all(mine);      // 0: the cell of another rank
  std::vector<signed char> begins(rows + columns), cut(begins);  // the rows, then the columns, at which tiles begin
  begins[top - 1] = begins[rows + left - 1] = 1;
  for (int row = top; row < bottom; ++row) {
    for (int column = left; column < right; ++column) {
      mine[(row - 1) * columns + column - 1] = same_bits(tile.at(row, column), plate.at(row, column)) ? '.' : '#';
    }
  }
  MPI_CHECK(MPI_Reduce(mine.data(), all.data(), rows * columns, MPI_SIGNED_CHAR, MPI_MAX, 0, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Allreduce(begins.data(), cut.data(), rows + columns, MPI_SIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD));
  std::vector<std::string> lines;
  for (int row = 0; row < rows; ++row) {
    std::string line, between;
    for (int column = 0; column < columns; ++column) {
      if (column > 0 && cut[rows + column] != 0) line += '|', between += '+';
      line += static_cast<char>(all[row * columns + column]);
      between += '-';
    }
    if (row > 0 && cut[row] != 0) lines.push_back(between);
    lines.push_back(line);
  }
  return lines;
}

/// Rank 0 prints side by side which cells are wrong: after the last two steps without an exchange, and after the last
/// one with it. Called by all ranks.
void draw(int steps, int rows, int columns, const mpi::Environment& world) {
  struct Picture {
    const char* form;
    void (*time_step)(Tile&);
    int step;
  };
  std::vector<Picture> pictures = {{"without an exchange", without_exchange, steps},
                                   {"with an exchange", exchange_then_work, steps}};
  if (steps > 0) pictures.insert(pictures.begin(), {"without an exchange", without_exchange, steps - 1});
  std::vector<std::string> text;
  for (const auto& [form, time_step, step] : pictures) {
    const Cells tile = after(step, time_step, rows, columns), plate = heat_serially(rows, columns, step);
    std::vector<std::string> lines = picture_of(tile, plate);
    lines.insert(lines.begin(),
                 {form, fmt::format("step {}: {} wrong", step, mpi::sum_over_ranks(differing(tile, plate)))});
    const std::size_t width = std::max<std::size_t>(lines.back().size(), 24) + 3;
    text.resize(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) text[i] += fmt::format("{:<{}}", lines[i], width);
  }
  for (std::string& line : text) line.resize(line.find_last_not_of(' ') + 1);
  if (world.rank() == 0) cookbook::println("{}", fmt::join(text, "\n"));
}

}  // namespace

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
  if (rows <= 40 && columns <= 40) draw(steps, rows, columns, world);

  const Cells serial = heat_serially(rows, columns, steps);  // each rank computes the whole plate, to compare its tile
  const auto right_after = [&](void (*time_step)(Tile&)) {
    const Cells tile = after(steps, time_step, rows, columns);
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

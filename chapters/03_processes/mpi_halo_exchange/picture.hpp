/// Pictures of a plate that show which cells are wrong.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cookbook/mpi.hpp"
#include "plate.hpp"
#include "tile.hpp"

/// The plate as lines on rank 0, a character per cell: # where the tile of its rank has other bits than the whole
/// plate; and lines between the tiles. Called by all ranks.
inline std::vector<std::string> picture_of(const Cells& tile, const Cells& plate) {
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

/// What a picture shows: the plate after `step` time steps of one form.
struct Picture {
  const char* form;
  void (*time_step)(Tile&);
  int step;
};

/// Rank 0 prints side by side which cells are wrong; a picture of the time before the start is left out. Called by all
/// ranks.
inline void draw(const std::vector<Picture>& pictures, int rows, int columns, const mpi::Environment& world) {
  std::vector<std::string> text;
  for (const auto& [form, time_step, step] : pictures) {
    if (step < 0) continue;
    const Cells tile = tile_after(step, time_step, rows, columns), plate = heat_serially(rows, columns, step);
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

/// A picture of the plate and of the tiles that it is cut into.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/print.hpp"
#include "plate.hpp"

namespace halo {

/// From blue at -60 degrees over white to red at 100, in 24 steps; 20 degrees are in the middle of one.
inline std::string colour_of(double temperature) {
  constexpr std::array<std::array<double, 3>, 5> colours = {
      {{33, 60, 130}, {110, 170, 215}, {247, 244, 235}, {240, 150, 80}, {150, 20, 30}}};
  const double place = std::round(std::clamp((temperature + 60) / 160, 0.0, 1.0) * 24) / 24 * 4;
  const std::size_t left = std::min<std::size_t>(static_cast<std::size_t>(place), 3);
  const double share = place - static_cast<double>(left);
  std::string text = "#";
  for (std::size_t i = 0; i < 3; ++i) {
    text += fmt::format("{:02x}", std::lround(colours[left][i] * (1 - share) + colours[left + 1][i] * share));
  }
  return text;
}

/// Writes it as SVG, of at most 200 x 200 squares: of a larger plate it shows every second cell, or every third, and so
/// on. Throws std::runtime_error, naming the file, if it cannot be written.
inline void draw(const std::string& file, const Grid& plate, const std::vector<Area>& tiles) {
  const int rows = plate.area().rows(), columns = plate.area().columns();
  const int every = (std::max(rows, columns) + 199) / 200;
  std::map<std::string, std::string> runs;  // a path for each colour, made of the stretches of a row that have it
  for (int row = 1; row <= rows; row += every) {
    for (int from = 1, next = 0; from <= columns; from = next) {
      const std::string colour = colour_of(*plate.at(row, from));
      for (next = from + every; next <= columns && colour_of(*plate.at(row, next)) == colour;) next += every;
      runs[colour] += fmt::format("M{} {}h{}v{}h-{}", from - 1, row - 1, next - from, every, next - from);
    }
  }

  std::ofstream out(file);
  out << fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="600" font-size="{:.1f}">)",
                     columns, rows, columns * 0.04)
      << "\n<g shape-rendering=\"crispEdges\">\n";
  for (const auto& [colour, path] : runs) out << fmt::format(R"(<path fill="{}" d="{}"/>)", colour, path) << '\n';
  out << "</g>\n";
  for (std::size_t rank = 0; rank < tiles.size(); ++rank) {
    const Area& tile = tiles[rank];
    out << fmt::format(
               R"(<rect x="{}" y="{}" width="{}" height="{}" fill="none" stroke="black" stroke-width="{:.1f}"/>)",
               tile.left - 1, tile.top - 1, tile.columns(), tile.rows(), columns * 0.003)
        << fmt::format(R"(<text x="{:.1f}" y="{:.1f}">rank {}</text>)", tile.left + columns * 0.015,
                       tile.top + columns * 0.04, rank)
        << '\n';
  }
  out << "</svg>\n";
  out.flush();
  if (!out) throw std::runtime_error("cannot write " + file);
}

}  // namespace halo

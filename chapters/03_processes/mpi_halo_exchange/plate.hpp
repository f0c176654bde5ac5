/// A plate whose cells have temperatures, and the heat equation on it: one time step.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Rows `top` to `bottom` - 1 and columns `left` to `right` - 1 of the plate.
struct Area {
  int top, bottom, left, right;
};

/// The temperatures of an area and of a frame around it, one cell wide. Rows and columns are numbered as in the whole
/// plate, which begins at row 1 and column 1.
class Cells {
 public:
  /// With the temperatures of the start: from 20 to 120, and without a pattern, so that no cell is right by luck.
  explicit Cells(const Area& area) : area_(area), width_(static_cast<std::size_t>(area.right - area.left + 2)) {
    for (int row = area.top - 1; row <= area.bottom; ++row) {
      for (int column = area.left - 1; column <= area.right; ++column) {
        cells_.push_back(20 + (7L * row * row + 13L * column * column) % 101);
      }
    }
  }

  const Area& area() const { return area_; }
  double& at(int row, int column) { return cells_[index(row, column)]; }
  const double& at(int row, int column) const { return cells_[index(row, column)]; }

 private:
  std::size_t index(int row, int column) const {
    return static_cast<std::size_t>(row - area_.top + 1) * width_ + static_cast<std::size_t>(column - area_.left + 1);
  }

  Area area_;
  std::size_t width_;
  std::vector<double> cells_;
};

/// One time step for the cells of `area`: each keeps half of its temperature and takes an eighth of each neighbour's.
/// These factors are powers of two, so the products are exact, and a compiler that computes product and sum in one
/// instruction gets the same bits.
inline void heat(const Cells& from, Cells& to, const Area& area) {
  for (int row = area.top; row < area.bottom; ++row) {
    for (int column = area.left; column < area.right; ++column) {
      to.at(row, column) = 0.5 * from.at(row, column) + 0.125 * ((from.at(row - 1, column) + from.at(row + 1, column)) +
                                                                 (from.at(row, column - 1) + from.at(row, column + 1)));
    }
  }
}

/// A whole plate after `steps` time steps, by one process. The frame around it keeps its temperatures.
inline Cells heat_serially(int rows, int columns, int steps) {
  Cells now({1, rows + 1, 1, columns + 1}), next = now;
  for (int step = 0; step < steps; ++step) {
    heat(now, next, now.area());
    std::swap(now, next);
  }
  return now;
}

inline bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// How many cells of `tile`, its frame aside, have other bits than in the whole plate.
inline long differing(const Cells& tile, const Cells& plate) {
  const auto [top, bottom, left, right] = tile.area();
  long count = 0;
  for (int row = top; row < bottom; ++row) {
    for (int column = left; column < right; ++column) count += !same_bits(tile.at(row, column), plate.at(row, column));
  }
  return count;
}

/// A plate of cells that have a temperature, and the heat equation on it: one time step.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace halo {

/// A rectangle of cells: rows from `top` to before `bottom`, columns from `left` to before `right`.
struct Area {
  int top, bottom, left, right;

  int rows() const { return bottom - top; }
  int columns() const { return right - left; }
};
constexpr Area nowhere{1, 1, 1, 1};

/// The temperature of a cell at the start, in a plate of `rows` x `columns` cells, numbered from 1 on. Row 0, row
/// `rows` + 1 and the columns likewise are the plate's edge, which keeps its temperature.
using Start = double (*)(int row, int column, int rows, int columns);

/// Room temperature, a hot disc, a cold bar; the edge is hot on the left and cold below. Whole numbers decide, since
/// rounding might differ from one place of the program to another.
inline double disc_and_bar(int row, int column, int rows, int columns) {
  if (column == 0) return 90;
  if (row == rows + 1) return -40;
  const long down = 100L * row - 40L * rows, across = 100L * column - 40L * columns, radius = 22L * rows;
  if (down * down + across * across < radius * radius) return 100;
  const auto between = [](long from, int cell, long to, int cells) {
    return from * cells < 100L * cell && 100L * cell < to * cells;
  };
  return between(20, row, 75, rows) && between(70, column, 80, columns) ? -60 : 20;
}

/// Half a wave of a sine in either direction. It keeps its form: each step takes the same share of it.
inline double sine_wave(int row, int column, int rows, int columns) {
  return std::sin(std::numbers::pi * row / (rows + 1)) * std::sin(std::numbers::pi * column / (columns + 1));
}

/// What is left of the sine wave after one step, of 1.
inline double sine_wave_left(int rows, int columns) {
  return 0.5 + 0.25 * (std::cos(std::numbers::pi / (rows + 1)) + std::cos(std::numbers::pi / (columns + 1)));
}

struct Plate {
  Start start;
  int rows, columns;

  Area area() const { return {1, rows + 1, 1, columns + 1}; }
  double cells() const { return static_cast<double>(rows) * columns; }
};

/// The cells of `area`, with the numbers that they have in the plate, and a frame of one cell around them.
class Grid {
 public:
  /// With the temperatures of the start, frame included.
  Grid(const Plate& plate, const Area& area) : area_(area) {
    cells_.reserve(static_cast<std::size_t>(area.rows() + 2) * static_cast<std::size_t>(stride()));
    for (int row = area.top - 1; row <= area.bottom; ++row) {
      for (int column = area.left - 1; column <= area.right; ++column) {
        cells_.push_back(plate.start(row, column, plate.rows, plate.columns));
      }
    }
  }

  double* at(int row, int column) { return &cells_[index(row, column)]; }
  const double* at(int row, int column) const { return &cells_[index(row, column)]; }

  const Area& area() const { return area_; }
  std::size_t bytes() const {
    return cells_.size() * sizeof(double);
  }                                                   ///< of all cells and the frame, from at(0, 0) on
  int stride() const { return area_.columns() + 2; }  ///< from a cell to the one below it

  /// How many cells have not the same bits as in `other`, which has the same area.
  long differing(const Grid& other) const {
    long count = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      count += std::bit_cast<std::uint64_t>(cells_[i]) != std::bit_cast<std::uint64_t>(other.cells_[i]);
    }
    return count;
  }

 private:
  std::size_t index(int row, int column) const {
    return static_cast<std::size_t>(row - area_.top + 1) * static_cast<std::size_t>(stride()) +
           static_cast<std::size_t>(column - area_.left + 1);
  }

  Area area_;
  std::vector<double> cells_;
};

/// One time step for the cells of `area`: each keeps half of its temperature and takes an eighth of each neighbour's.
///
/// The serial and the parallel form both call this, so they add in the same order. The weights are powers of two, so
/// the products are exact: a compiler that fuses one with an addition changes no bit.
inline void work(const Grid& from, Grid& to, const Area& area) {
  for (int row = area.top; row < area.bottom; ++row) {
    const double* above = from.at(row - 1, area.left);
    const double* here = from.at(row, area.left);
    const double* below = from.at(row + 1, area.left);
    double* result = to.at(row, area.left);
    for (int i = 0; i < area.columns(); ++i) {
      result[i] = 0.5 * here[i] + 0.125 * ((above[i] + below[i]) + (here[i - 1] + here[i + 1]));
    }
  }
}

/// The serial form: the plate after `steps` time steps.
inline Grid in_one_process(const Plate& plate, int steps) {
  Grid now(plate, plate.area()), next = now;
  for (int step = 0; step < steps; ++step) {
    work(now, next, plate.area());
    std::swap(now, next);
  }
  return now;
}

}  // namespace halo

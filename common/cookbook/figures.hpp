/// Tables of measured figures: a rate or a cost per row, with its spread, and how it compares with other rows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"

namespace cookbook {

/// What a column of figures is given in: a rate (items_per_run over time, more is better) or a cost (time over
/// items_per_run, less is better).
struct Unit {
  std::string name;  ///< as printed, such as "GB/s"
  double scale;      ///< one of the unit in base units, such as 1e9 for GB/s or 1e-9 for ns
  bool is_cost;
};

inline Unit rate(std::string name, double scale) { return {std::move(name), scale, false}; }
inline Unit cost(std::string name, double scale) { return {std::move(name), scale, true}; }

/// The machine and the compiler in one line, such as "AMD EPYC, 2 hardware threads, GCC 12.2.0".
std::string machine();

/// One table. The unit is fixed, not chosen by size, so that a page can quote it.
class Figures {
 public:
  /// `machine` is what the figures were measured on: this processor, unless a recipe names another, such as a GPU.
  Figures(std::string_view title, Unit unit, std::string machine = cookbook::machine())
      : title_(title), unit_(std::move(unit)), machine_(std::move(machine)) {}

  /// Measures the rows in turns (run_interleaved) and adds them to the table.
  void measure(const std::vector<Benchmark>& rows, int rounds);

  /// Adds a row: `timing` of a piece of work that handles `items_per_run` of something (bytes, tasks, operations).
  void add(std::string_view name, const Timing& timing, double items_per_run);

  /// Adds a column "of <label>": each row's speed as a percentage of the speed of `row`, which is in the table or comes
  /// later. The label is the row's name unless a shorter one is given.
  void percent_of(std::string_view row, std::string_view label = "");

  /// Adds a column "vs <label>": how many times as fast as `row` each row is.
  void speedup_over(std::string_view row, std::string_view label = "");

  /// Prints machine, title and rows, or under --json a record per row; nothing if a check has failed, since the speed
  /// of a wrong result means nothing. Throws std::logic_error if a column compares with a row that the table does not
  /// have.
  void print(const Checks& checks) const;

 private:
  struct Line {
    std::string name;
    double median, lowest, highest;  ///< in the unit
    int repeats;
  };
  struct Comparison {
    std::string row, label;
    bool percent;
  };

  double speed_relative_to(const Line& line, std::string_view row) const;

  std::string title_;
  Unit unit_;
  std::string machine_;
  std::vector<Line> lines_;
  std::vector<Comparison> comparisons_;
};

}  // namespace cookbook

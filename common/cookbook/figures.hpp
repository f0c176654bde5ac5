/// Tables of measured figures: each row a rate or a cost, with its spread, its limit and its peer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cookbook/measure.hpp"
#include "cookbook/verdict.hpp"

namespace cookbook {

/// What a column of figures is given in: a rate (amount over time, more is better) or a cost (time over amount, less
/// is better).
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

  /// Adds a row: `timing` of a piece of work that handles `amount` of something (bytes, tasks, operations).
  void add(std::string_view name, const Timing& timing, double amount);

  /// The same; all rows then show their share of this figure, which the machine cannot exceed.
  void add_limit(std::string_view name, const Timing& timing, double amount);

  /// The same; all rows then show how many times as fast as this library's they are.
  void add_peer(std::string_view name, const Timing& timing, double amount);

  /// Prints title, machine, method and rows, or under --json a record a row; nothing if a check has failed, since the
  /// speed of a wrong result means nothing.
  void print(const Verdict& verdict) const;

 private:
  struct Row {
    std::string name;
    double median, lowest, highest;  ///< in the unit
    int repeats;
  };

  double better_by(const Row& row, const Row& other) const;

  std::string title_;
  Unit unit_;
  std::string machine_;
  std::vector<Row> rows_;
  int limit_ = -1;  ///< index of a row, -1 for none
  int peer_ = -1;
};

}  // namespace cookbook

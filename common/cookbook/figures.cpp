#include "cookbook/figures.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "cookbook/print.hpp"

namespace cookbook {
namespace {

/// Three significant digits, never an exponent: 0.123, 1.23, 12.3, 123, 1230.
std::string three_digits(double value) {
  const int magnitude = value > 0 && std::isfinite(value) ? static_cast<int>(std::floor(std::log10(value))) : 0;
  return fmt::format("{:.{}f}", value, std::clamp(2 - magnitude, 0, 9));
}

}  // namespace

void Figures::measure(const std::vector<Benchmark>& rows, int rounds) {
  const std::vector<Timing> timings = run_interleaved(rows, rounds);
  for (std::size_t i = 0; i < rows.size(); ++i) add(rows[i].name, timings[i], rows[i].items_per_run);
}

void Figures::add(std::string_view name, const Timing& timing, double items_per_run) {
  const auto figure = [&](double seconds) {
    return (unit_.is_cost ? seconds / items_per_run : items_per_run / seconds) / unit_.scale;
  };
  const auto [lowest, highest] = std::minmax({figure(timing.minimum), figure(timing.maximum)});
  lines_.push_back({std::string(name), figure(timing.median), lowest, highest, timing.repeats});
}

void Figures::percent_of(std::string_view row, std::string_view label) {
  comparisons_.push_back({std::string(row), fmt::format("of {}", label.empty() ? row : label), true});
}

void Figures::speedup_over(std::string_view row, std::string_view label) {
  comparisons_.push_back({std::string(row), fmt::format("vs {}", label.empty() ? row : label), false});
}

double Figures::speed_relative_to(const Line& line, std::string_view row) const {
  for (const Line& other : lines_) {
    if (other.name == row) return unit_.is_cost ? other.median / line.median : line.median / other.median;
  }
  throw std::logic_error(fmt::format("the table '{}' has no row '{}' to compare with", title_, row));
}

void Figures::print(const Checks& checks) const {
  if (!checks.passed() || lines_.empty()) return;

  std::size_t width = title_.size();
  for (const Line& line : lines_) width = std::max(width, line.name.size());
  const std::size_t column = unit_.name.size() + 8;

  println("");
  println("On {}", machine_);
  std::string head =
      fmt::format("{:<{}} {:>{}} {:>{}} {:>{}}", title_, width, "median", column, "lowest", column, "highest", column);
  for (const Comparison& comparison : comparisons_) head += fmt::format("  {:>8}", comparison.label);
  println("{}", head);

  for (const Line& line : lines_) {
    const auto cell = [&](double value) { return three_digits(value) + ' ' + unit_.name; };
    std::string text = fmt::format("{:<{}} {:>{}} {:>{}} {:>{}}", line.name, width, cell(line.median), column,
                                   cell(line.lowest), column, cell(line.highest), column);
    std::string compared;
    for (const Comparison& comparison : comparisons_) {
      const double speed = speed_relative_to(line, comparison.row);
      const std::string value =
          comparison.percent ? fmt::format("{:.0f} %", 100 * speed) : fmt::format("{:.2f} x", speed);
      text += fmt::format("  {:>{}}", value, std::max<std::size_t>(8, comparison.label.size()));
      compared +=
          fmt::format("{}{}: {}", compared.empty() ? "" : ", ", json_string(comparison.label), json_number(speed));
    }
    println("{}", text);
    print_record(fmt::format(
        R"({{"recipe": {}, "table": {}, "row": {}, "unit": {}, "median": {}, "lowest": {}, "highest": {}, "runs": {}, )"
        R"("compared": {{{}}}, "machine": {}}})",
        json_string(program_name()), json_string(title_), json_string(line.name), json_string(unit_.name),
        json_number(line.median), json_number(line.lowest), json_number(line.highest), line.repeats, compared,
        json_string(machine_)));
  }
}

std::string machine() {
  std::string model = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  }
#ifdef __clang__
  const std::string compiler = "Clang " __clang_version__;
#else
  const std::string compiler = "GCC " __VERSION__;
#endif
  return fmt::format("{}, {} hardware threads, {}", model, std::thread::hardware_concurrency(), compiler);
}

}  // namespace cookbook

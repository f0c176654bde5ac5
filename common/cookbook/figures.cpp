#include "cookbook/figures.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "cookbook/print.hpp"

namespace cookbook {
namespace {

/// Three significant digits, never an exponent: 0.123, 1.23, 12.3, 123, 1230.
std::string three_digits(double value) {
  const int magnitude = value > 0 ? static_cast<int>(std::floor(std::log10(value))) : 0;
  return fmt::format("{:.{}f}", value, std::clamp(2 - magnitude, 0, 9));
}

}  // namespace

void Figures::add(std::string_view name, const Timing& timing, double amount) {
  const auto figure = [&](double seconds) {
    return (unit_.is_cost ? seconds / amount : amount / seconds) / unit_.scale;
  };
  const auto [lowest, highest] = std::minmax({figure(timing.minimum), figure(timing.maximum)});
  rows_.push_back({std::string(name), figure(timing.median), lowest, highest, timing.repeats});
}

void Figures::add_limit(std::string_view name, const Timing& timing, double amount) {
  limit_ = static_cast<int>(rows_.size());
  add(name, timing, amount);
}

void Figures::add_peer(std::string_view name, const Timing& timing, double amount) {
  peer_ = static_cast<int>(rows_.size());
  add(name, timing, amount);
}

double Figures::better_by(const Row& row, const Row& other) const {
  return unit_.is_cost ? other.median / row.median : row.median / other.median;
}

void Figures::print(const Verdict& verdict) const {
  if (!verdict.passed() || rows_.empty()) return;

  std::size_t width = title_.size();
  for (const Row& row : rows_) width = std::max(width, row.name.size());
  const std::size_t column = unit_.name.size() + 8;

  println("");
  println("On {}", machine_);
  println("{:<{}} {:>{}} {:>{}} {:>{}}{}{}", title_, width, "median", column, "lowest", column, "highest", column,
          limit_ >= 0 ? "  of limit" : "", peer_ >= 0 ? "   vs peer" : "");
  for (const Row& row : rows_) {
    const auto cell = [&](double value) { return three_digits(value) + ' ' + unit_.name; };
    std::string line = fmt::format("{:<{}} {:>{}} {:>{}} {:>{}}", row.name, width, cell(row.median), column,
                                   cell(row.lowest), column, cell(row.highest), column);
    std::string record = fmt::format(
        R"({{"recipe": {}, "table": {}, "row": {}, "unit": {}, "median": {}, "lowest": {}, "highest": {}, "runs": {})",
        json_string(program_name()), json_string(title_), json_string(row.name), json_string(unit_.name), row.median,
        row.lowest, row.highest, row.repeats);
    if (limit_ >= 0) {
      const double share = better_by(row, rows_[static_cast<std::size_t>(limit_)]);
      line += fmt::format("{:>8.0f} %", 100 * share);
      record += fmt::format(R"(, "share_of_limit": {})", share);
    }
    if (peer_ >= 0) {
      const Row& peer = rows_[static_cast<std::size_t>(peer_)];
      line += fmt::format("{:>8.2f} x", better_by(row, peer));
      record += fmt::format(R"(, "times_peer": {}, "peer": {})", better_by(row, peer), json_string(peer.name));
    }
    println("{}", line);
    print_record(record + fmt::format(R"(, "machine": {}}})", json_string(machine_)));
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

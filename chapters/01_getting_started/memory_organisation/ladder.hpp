/// The ladder of latencies: its rungs, where it rises, its table and its picture.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"
#include "svg.hpp"
#include "topology.hpp"

/// How long a load takes when so many bytes are in use. Other programs only ever add to a time, so the shortest counts.
struct Rung {
  std::size_t bytes;
  cookbook::Timing load;
  double seconds() const { return load.minimum; }
};
using Ladder = std::vector<Rung>;

/// 4 KiB, 6 KiB, 8 KiB, 12 KiB, ... up to `largest`.
inline std::vector<std::size_t> sizes_up_to(std::size_t largest) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 4 << 10; size <= largest; size *= 2) {
    sizes.push_back(size);
    if (size / 2 * 3 <= largest) sizes.push_back(size / 2 * 3);
  }
  return sizes;
}

/// The sizes after which the ladder rises: by half or more from a rung to the second one after it. Where it goes on
/// rising, only the steepest single step counts.
inline std::vector<std::size_t> steps_of(const Ladder& ladder) {
  std::vector<std::size_t> steps;
  double steepest = 0;
  for (std::size_t i = 0; i + 2 < ladder.size(); ++i) {
    if (ladder[i + 2].seconds() < 1.5 * ladder[i].seconds()) {
      steepest = 0;  // the rise, if there was one, is over
      continue;
    }
    if (steepest == 0) steps.push_back(0);
    for (const std::size_t k : {i, i + 1}) {
      const double rise = ladder[k + 1].seconds() / ladder[k].seconds();
      if (rise > steepest) {
        steepest = rise;
        steps.back() = ladder[k].bytes;
      }
    }
  }
  return steps;
}

/// A row an octave; under --json a record a rung.
inline void print_ladders(const cookbook::Verdict& verdict, const Ladder& small, const Ladder& huge) {
  cookbook::println("\nOn {}", cookbook::machine());
  cookbook::println("memory in use  small pages  huge pages");
  cookbook::Figures records("time of a load", cookbook::cost("ns", 1e-9));
  for (std::size_t i = 0; i < small.size(); ++i) {
    const std::string size = topology::bytes_text(small[i].bytes);
    const auto cell = [](const Rung& rung) { return fmt::format("{:.2f} ns", rung.seconds() * 1e9); };
    if (i % 2 == 0) cookbook::println("{:>13}  {:>11}  {:>10}", size, cell(small[i]), cell(huge[i]));
    records.add(size + ", small pages", small[i].load, 1);
    records.add(size + ", huge pages", huge[i].load, 1);
  }
  if (cookbook::json_wanted()) records.print(verdict);
}

/// Both axes are logarithmic. Vertical lines: the sizes of the caches, as the system reports them.
inline void draw_ladders(const std::string& file, const Ladder& small, const Ladder& huge,
                         const std::vector<topology::Cache>& caches) {
  constexpr double left = 70, top = 40, width = 780, height = 340;
  constexpr double fastest = 0.5e-9, slowest = 512e-9;
  const double first = std::log2(static_cast<double>(small.front().bytes));
  const double octaves = std::log2(static_cast<double>(small.back().bytes)) - first;
  const auto x = [&](std::size_t bytes) {
    return left + width * (std::log2(static_cast<double>(bytes)) - first) / octaves;
  };
  const auto y = [&](double seconds) {
    return top + height - height * std::log2(std::clamp(seconds, fastest, slowest) / fastest) / 10;
  };

  Svg picture(900, 470);
  for (double tick = 1e-9; tick <= 256e-9; tick *= 4) {
    picture.line(left, y(tick), left + width, y(tick), "#dddddd");
    picture.text(left - 8, y(tick) + 4, fmt::format("{:.0f} ns", tick * 1e9), "end");
  }
  for (std::size_t size = small.front().bytes; size <= small.back().bytes; size *= 4) {
    picture.line(x(size), top + height, x(size), top + height + 5, "black");
    picture.text(x(size), top + height + 20, topology::bytes_text(size), "middle");
  }
  for (const topology::Cache& cache : caches) {
    if (cache.bytes < small.front().bytes || cache.bytes > small.back().bytes) continue;
    picture.line(x(cache.bytes), top, x(cache.bytes), top + height, "#999999", 1.5);
    picture.text(x(cache.bytes), top - 8, fmt::format("L{}: {}", cache.level, topology::bytes_text(cache.bytes)),
                 "middle");
  }
  picture.line(left, top + height, left + width, top + height, "black");

  const auto draw = [&](const Ladder& ladder, std::string_view colour) {
    std::vector<std::pair<double, double>> points;
    for (const Rung& rung : ladder) points.emplace_back(x(rung.bytes), y(rung.seconds()));
    picture.curve(points, colour);
    for (const auto& [px, py] : points) picture.circle(px, py, 3, colour);
  };
  draw(small, "#d55e00");
  draw(huge, "#0072b2");

  constexpr double legend = top + height + 60;
  picture.line(left, legend - 4, left + 30, legend - 4, "#d55e00", 2);
  picture.text(left + 36, legend, "small pages");
  picture.line(left + 150, legend - 4, left + 180, legend - 4, "#0072b2", 2);
  picture.text(left + 186, legend, "huge pages");
  picture.text(left + width, legend, "time of one load, over the memory in use", "end");
  picture.save(file);
}

/// The ladder of latencies: its rungs, where it rises, and its table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/print.hpp"
#include "topology.hpp"

constexpr int loads = 1 << 15;  ///< of one walk

/// How long a load takes when so many bytes are in use. Other programs only ever add to a time, so the shortest counts.
struct Rung {
  std::size_t bytes;
  cookbook::Timing walk;  ///< of `loads` loads
  double seconds() const { return walk.minimum / loads; }
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

/// One row per octave; under --json one record per rung.
inline void print_ladders(const cookbook::Checks& checks, const Ladder& small, const Ladder& huge) {
  cookbook::println("\nOn {}", cookbook::machine());
  cookbook::println("memory in use  small pages  huge pages");
  cookbook::Figures records("time of a load", cookbook::cost("ns", 1e-9));
  for (std::size_t i = 0; i < small.size(); ++i) {
    const std::string size = topology::bytes_text(small[i].bytes);
    const auto cell = [](const Rung& rung) { return fmt::format("{:.2f} ns", rung.seconds() * 1e9); };
    if (i % 2 == 0) cookbook::println("{:>13}  {:>11}  {:>10}", size, cell(small[i]), cell(huge[i]));
    records.add("small pages, " + size, small[i].walk, loads);
    records.add("huge pages, " + size, huge[i].walk, loads);
  }
  if (cookbook::json_wanted()) records.print(checks);
}

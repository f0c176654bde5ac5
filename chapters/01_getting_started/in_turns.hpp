/// Timing several ways to do one job in turns, so that whatever else the machine does hits all of them alike.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/verdict.hpp"

enum class Role { way, limit, peer };

struct Way {
  std::string_view name;
  double amount;  ///< of what the figures are given for: products, bytes
  std::function<void()> work;
  Role role = Role::way;
};

/// Does each way once unmeasured, then once a round, in another order each time; prints a table of the times. Does
/// nothing if a check has failed.
inline void time_in_turns(const cookbook::Verdict& verdict, std::string_view title, const cookbook::Unit& unit,
                          int rounds, const std::vector<Way>& ways) {
  if (!verdict.passed()) return;
  std::vector<std::size_t> order(ways.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random;
  std::vector<std::vector<double>> seconds(ways.size());
  for (const Way& way : ways) way.work();
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      const cookbook::Stopwatch watch;
      ways[i].work();
      seconds[i].push_back(watch.seconds());
    }
  }

  cookbook::Figures figures(title, unit);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const cookbook::Timing timing = cookbook::timing_of(std::move(seconds[i]));
    switch (ways[i].role) {
      case Role::way:
        figures.add(ways[i].name, timing, ways[i].amount);
        break;
      case Role::limit:
        figures.add_limit(ways[i].name, timing, ways[i].amount);
        break;
      case Role::peer:
        figures.add_peer(ways[i].name, timing, ways[i].amount);
        break;
    }
  }
  figures.print(verdict);
}

/// Timing several ways to do one job in turns, so that whatever else the machine does hits all of them alike.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/verdict.hpp"

enum class Role { limit, peer, way };

struct Entry {
  Role role;
  std::string_view name;
  std::function<void()> work;
};

/// Runs every entry once a round, in another order each time, and prints a table of what they did of `amount` in a
/// second; nothing if a check has failed. `prepare` is called before each run and not measured.
inline void contest(
    const cookbook::Verdict& verdict, std::string_view title, const cookbook::Unit& unit, double amount, int rounds,
    const std::vector<Entry>& entries, const std::function<void()>& prepare = [] {}) {
  if (!verdict.passed()) return;
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random;
  std::vector<std::vector<double>> seconds(entries.size());
  for (int round = 0; round < rounds; ++round) {
    // What ran before leaves its mark: data in the caches, and threads of oneTBB that look for work for a while.
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t entry : order) {
      prepare();
      const cookbook::Stopwatch watch;
      entries[entry].work();
      seconds[entry].push_back(watch.seconds());
    }
  }

  cookbook::Figures figures(title, unit);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const cookbook::Timing timing = cookbook::timing_of(std::move(seconds[i]));
    if (entries[i].role == Role::limit) {
      figures.add_limit(entries[i].name, timing, amount);
    } else if (entries[i].role == Role::peer) {
      figures.add_peer(entries[i].name, timing, amount);
    } else {
      figures.add(entries[i].name, timing, amount);
    }
  }
  figures.print(verdict);
}

/// A ring of cache lines in memory, to walk along.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

/// A cache line of most processors, the piece in which memory is loaded. Its content says where to go next.
struct alignas(64) Line {
  const Line* next;
};

/// Joins the lines to one ring, in the order in which they lie in memory.
inline void join_in_order(std::span<Line> lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i].next = &lines[(i + 1) % lines.size()];
}

/// Joins the lines to one ring in random order.
inline void join_at_random(std::span<Line> lines) {
  std::vector<std::uint32_t> order(lines.size());
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  for (std::size_t i = 0; i < order.size(); ++i) lines[order[i]].next = &lines[order[(i + 1) % order.size()]];
}

/// Takes `steps` steps from `line`, each of which has to wait for the one before. Returns the line that it comes to.
inline const Line* walk(const Line* line, long steps) {
  for (long i = 0; i < steps; ++i) line = line->next;
  return line;
}

/// Whether the walk from the first line comes to every line before it is back there: whether the lines are one ring.
/// (It ends after as many steps as there are lines, since a walk on lines that are no ring may never come back.)
inline bool is_one_ring(std::span<const Line> lines) {
  const Line* line = lines.front().next;
  std::size_t steps = 1;
  for (; line != &lines.front() && steps < lines.size(); ++steps) line = line->next;
  return line == &lines.front() && steps == lines.size();
}

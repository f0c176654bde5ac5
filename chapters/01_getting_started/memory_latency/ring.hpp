/// A ring of cache lines in memory, to walk along.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

/// A cache line, the piece in which memory is loaded. Its content says where to go next.
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

/// Takes so many steps, each of which has to wait for the one before; where they lead.
inline const Line* walk(const Line* line, long steps) {
  for (long i = 0; i < steps; ++i) line = line->next;
  return line;
}

/// The number of steps until the walk is back at `start`.
inline std::size_t length_of_ring(const Line* start) {
  std::size_t steps = 1;
  for (const Line* line = start->next; line != start; line = line->next) ++steps;
  return steps;
}

/// What the recipe and its pitfall share.
#pragma once

#include <chrono>
#include <cstddef>
#include <random>
#include <vector>

constexpr std::size_t max_items = 10'000;
constexpr int no_more = -1;                         // the last item, which no producer makes
constexpr auto timeout = std::chrono::seconds(10);  // after so long a process that has not come is taken for dead

/// The items that the producer makes: random, from 0 to 256, both included, and the same in each run.
inline std::vector<int> make_items(std::size_t count) {
  std::mt19937 random(2015);
  std::uniform_int_distribution<int> any(0, 256);
  std::vector<int> items(count);
  for (int& item : items) item = any(random);
  return items;
}

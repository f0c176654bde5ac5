/// The job that all models do, and ways to cut it into tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using Number = std::uint32_t;
using Sum = std::uint64_t;  ///< wraps around at 2^64: exact, whatever the order
using Numbers = std::span<const Number>;

/// The i-th number of row a (0) or b (1): random, and whoever needs it can compute it, in any process.
inline Number number_at(std::uint64_t row, std::uint64_t i) {
  std::uint64_t bits = (2 * i + row + 1) * 0x9e3779b97f4a7c15;  // splitmix64
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return static_cast<Number>(bits >> 32);
}

inline std::vector<Number> make_numbers(std::uint64_t row, std::size_t first, std::size_t last) {
  std::vector<Number> numbers(last - first);
  for (std::size_t i = first; i < last; ++i) numbers[i - first] = number_at(row, i);
  return numbers;
}

/// What every model has to compute: in one flow, over all or over a part.
inline Sum dot(Numbers a, Numbers b) {
  Sum sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += Sum{a[i]} * b[i];
  return sum;
}

/// The indices of one task: `first`, `first + step`, and so on, below `last`.
struct Owned {
  std::size_t first, last, step;
};

/// Neighbours belong together: task 1 of 4 has the second quarter.
inline Owned block(std::size_t size, std::size_t tasks, std::size_t task) {
  return {size * task / tasks, size * (task + 1) / tasks, 1};
}

/// Dealt out like cards: task 1 of 4 has 1, 5, 9, ...
inline Owned cyclic(std::size_t size, std::size_t tasks, std::size_t task) { return {task, size, tasks}; }

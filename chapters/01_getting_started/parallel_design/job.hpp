/// The job that is designed for: items whose work differs by a factor of hundreds, and three functions of each.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

using Sum = std::uint64_t;  ///< wraps around at 2^64: exact, whatever the order
constexpr std::size_t functions = 3;
using Results = std::array<Sum, functions>;  ///< a sum over all items for each function

/// The work of each item, in units; and how long a unit is.
struct Job {
  std::vector<long> units;
  int steps;

  long items() const { return static_cast<long>(units.size()); }
};

/// Items `first` to `last` - 1, with all functions.
struct Task {
  long first, last;
};

/// Half of the items cost one unit, a quarter two, and so on up to 64; in the last quarter of the row they cost four
/// times as much. The seed is fixed: who asks twice gets the same job.
inline Job irregular_job(long items, int steps) {
  Job job{{}, steps};
  for (long i = 0; i < items; ++i) {
    Sum bits = static_cast<Sum>(i + 1) * 0x9e3779b97f4a7c15;  // splitmix64
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    const long units = 1L << std::countr_zero((bits >> 32) | 64);
    job.units.push_back(i < items - items / 4 ? units : 4 * units);
  }
  return job;
}

/// What one function finds in an item: a chain of steps, each of which needs the one before. It touches no memory. Not
/// inlined, or else the compiler would make vector code of it in one form and not in another.
[[gnu::noinline]] inline Sum find(const Job& job, long item, std::size_t function) {
  const long steps = job.units[static_cast<std::size_t>(item)] * job.steps;
  Sum number = static_cast<Sum>(item);
  for (long step = 0; step < steps; ++step) number = (number ^ (number >> (27 + function))) * 0xbf58476d1ce4e5b9 + 1;
  return number;
}

inline Results work(const Job& job, Task task) {
  Results results{};
  for (long item = task.first; item < task.last; ++item) {
    for (std::size_t function = 0; function < functions; ++function) results[function] += find(job, item, function);
  }
  return results;
}

inline long units_of(const Job& job, Task task) {
  long units = 0;
  for (long item = task.first; item < task.last; ++item) units += job.units[static_cast<std::size_t>(item)];
  return units;
}

/// All items in groups of `group`; the last one may be smaller.
inline std::vector<Task> tasks_of(const Job& job, long group) {
  std::vector<Task> tasks;
  for (long first = 0; first < job.items(); first += group) {
    tasks.push_back({first, first + group < job.items() ? first + group : job.items()});
  }
  return tasks;
}

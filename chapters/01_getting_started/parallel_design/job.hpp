/// The job: a row of items whose work differs by a factor of hundreds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

using Sum = std::uint64_t;  // wraps around, so it is the same in any order

/// The work of an item in units. Of the first three quarters of the row about half have one unit, a quarter two, and so
/// on up to 64; the items of the last quarter have four times as many. The numbers look random, but are the same in
/// every run.
inline int units_of(int item, int items) {
  Sum bits = static_cast<Sum>(item + 1) * 0x9e3779b97f4a7c15;  // splitmix64 (Steele, Lea, Flood 2014)
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  const int units = 1 << std::countr_zero((bits >> 32) | 64);
  return item < items - items / 4 ? units : 4 * units;
}

/// Does an item: a chain of steps, each of which needs the one before; `steps` of them are a unit.
inline Sum do_item(int item, int items, int steps) {
  Sum number = static_cast<Sum>(item);
  for (int step = steps * units_of(item, items); step > 0; --step)
    number = (number ^ (number >> 29)) * 0xbf58476d1ce4e5b9 + 1;
  return number;
}

/// Some items that belong together: `first` to `last` - 1.
struct Task {
  int first, last;
};

/// All items, in tasks of `group` items; the last task may have fewer.
inline std::vector<Task> tasks_of(int items, int group) {
  std::vector<Task> tasks;
  for (int first = 0; first < items; first += group) tasks.push_back({first, std::min(first + group, items)});
  return tasks;
}

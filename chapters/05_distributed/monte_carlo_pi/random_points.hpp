/// Random points in the unit square, a stream of its own for each task.
#pragma once

#include <cstdint>

struct Point {
  double x, y;
};

/// Whether the point lies inside the unit circle; a point on the circle does not.
inline bool inside(Point p) { return p.x * p.x + p.y * p.y < 1; }

/// Spreads the bits of a number: the output function of SplitMix64 (Steele, Lea and Flood, 2014).
inline std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

/// Point `i` of a task, with both coordinates in [0, 1). It depends on these two numbers alone, and not on what was
/// drawn before: a counter-based generator.
inline Point point(std::uint64_t task, std::uint64_t i) {
  // Not mixed(task): mixed(0) is 0, so task 0 would begin with the point (0, 0). Each coordinate gets 32 of the bits.
  // An odd constant (2^64 / golden ratio), so every i gives another number.
  const std::uint64_t bits = mixed(mixed(task + 1) + i * 0x9e3779b97f4a7c15);
  return {static_cast<double>(bits >> 32) * 0x1p-32, static_cast<double>(bits & 0xffffffff) * 0x1p-32};
}

/// How many of the task's first `points` points lie inside the circle.
inline long hits(std::uint64_t task, long points) {
  long count = 0;
  for (long i = 0; i < points; ++i) count += inside(point(task, static_cast<std::uint64_t>(i)));
  return count;
}

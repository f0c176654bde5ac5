/// Counters in one piece of memory, and two ways to count.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

using Counter = std::atomic<long>;

/// The size of a cache line on most processors. (The compiler's std::hardware_destructive_interference_size is the size
/// of a line, or more.)
constexpr std::size_t cache_line = 64;

/// Counters side by side, from the beginning of a line. (Of a pair of lines, since some processors load lines in
/// pairs.)
struct alignas(2 * cache_line) Counters {
  std::array<Counter, 32> all = {};

  /// The counter that begins so many bytes after the first one.
  Counter& at(std::size_t bytes) { return all.at(bytes / sizeof(Counter)); }
};

/// The number of the line in which the counter lies.
inline std::uintptr_t line_of(const Counter& counter) {
  return reinterpret_cast<std::uintptr_t>(&counter) / cache_line;
}

/// On x86 each addition needs the line in this core's cache at once, and in no other cache.
inline void add_atomically(Counter& counter, long counts) {
  for (long i = 0; i < counts; ++i) counter.fetch_add(1, std::memory_order_relaxed);
}

/// Counts in a register, and writes to memory once.
inline void add_locally(Counter& counter, long counts) {
  long sum = 0;
  for (long i = 0; i < counts; ++i) {
    ++sum;
    asm volatile("" : "+r"(sum));  // or else the compiler would replace the loop by its result
  }
  counter.fetch_add(sum, std::memory_order_relaxed);
}

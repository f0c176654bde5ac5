/// Two counters for two threads, and three ways to count in one of them.
#pragma once

#include <atomic>
#include <cstddef>

using Counter = std::atomic<long>;

/// The size of a cache line on most processors. (Where the compiler knows it, the standard library has it under the
/// name std::hardware_destructive_interference_size.)
constexpr std::size_t cache_line = 64;

/// One counter after the other. Without alignas a line could end between them.
struct alignas(cache_line) OneLine {
  Counter first = 0, second = 0;
};

/// Each counter begins a line of its own. (Twice the size, since some processors load lines in pairs.)
struct TwoLines {
  alignas(2 * cache_line) Counter first = 0;
  alignas(2 * cache_line) Counter second = 0;
};

/// On x86 each addition needs the line in this core's cache at once, and in no other cache.
inline void add_atomically(Counter& counter, long counts) {
  for (long i = 0; i < counts; ++i) counter.fetch_add(1, std::memory_order_relaxed);
}

/// Enough for a counter that only one thread writes. The store may wait inside the core until the line is there.
inline void load_and_store(Counter& counter, long counts) {
  for (long i = 0; i < counts; ++i) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
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

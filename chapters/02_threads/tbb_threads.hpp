/// What a program has to know about libraries that have threads of their own: oneTBB, which also runs
/// std::execution::par, and OpenBLAS.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "cookbook/affinity.hpp"
#include "cookbook/measure.hpp"

/// Whether this is a build with ThreadSanitizer, as GCC and Clang tell it.
#if defined(__SANITIZE_THREAD__)
constexpr bool built_with_thread_sanitizer = true;
#elif !defined(__has_feature)
constexpr bool built_with_thread_sanitizer = false;
#elif __has_feature(thread_sanitizer)
constexpr bool built_with_thread_sanitizer = true;
#else
constexpr bool built_with_thread_sanitizer = false;
#endif

/// How many threads oneTBB is to use: one per processor. Only one under ThreadSanitizer, which cannot see how threads
/// wait for each other inside the library, and would report races.
inline int threads_for_tbb(bool under_thread_sanitizer = built_with_thread_sanitizer) {
  return under_thread_sanitizer ? 1 : cookbook::allowed_processors();
}

/// A row whose work begins `pause` after the row before it has ended. The threads of these libraries look for more work
/// before they sleep (OpenBLAS's for 2^26 clock ticks), and would take the processors from the next row.
template <typename Work>
cookbook::Benchmark benchmark_after_pause(std::string name, double amount, Work work, std::chrono::milliseconds pause) {
  return {std::move(name), amount, [work = std::move(work), pause]() mutable {
            std::this_thread::sleep_for(pause);
            const cookbook::Stopwatch watch;
            work();
            return watch.seconds();
          }};
}

/// What a program has to know about libraries that have threads of their own: oneTBB, which also runs
/// std::execution::par, and OpenBLAS.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "cookbook/affinity.hpp"
#include "cookbook/measure.hpp"

/// How many threads oneTBB is to use: one per processor. Only one under ThreadSanitizer, which cannot see how threads
/// wait for each other inside the library, and would report races.
inline int threads_for_tbb() {
#if defined(__SANITIZE_THREAD__)
  return 1;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return 1;
#endif
#endif
  return cookbook::allowed_processors();
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

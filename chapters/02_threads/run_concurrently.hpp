/// Running threads so that they really meet.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"

/// Looks at `condition` again and again until it holds; after a hundred looks it lets other threads run between two.
template <typename Condition>
void spin_until(Condition condition) {
  for (int looks = 0; !condition(); ++looks) {
    if (looks >= 100) {
      std::this_thread::yield();
    } else {
#if defined(__x86_64__)
      __builtin_ia32_pause();  // tells the processor that this thread is only waiting
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
  }
}

/// Runs task(0), task(1) and so on, each in a thread of its own. The threads are spread over the processors and begin
/// at the same time: a short thread would otherwise have ended before the next one starts. Returns the seconds from the
/// first one's begin to the last one's end.
template <typename Task>
double run_concurrently(int threads, Task task) {
  using Time = std::chrono::steady_clock::time_point;
  std::vector<Time> begin(threads), end(threads);
  std::atomic<int> missing = threads;
  {
    std::vector<std::jthread> running;
    for (int number = 0; number < threads; ++number) {
      running.emplace_back([&, number] {
        cookbook::pin(number);
        --missing;
        spin_until([&] { return missing == 0; });
        begin[number] = std::chrono::steady_clock::now();
        task(number);
        end[number] = std::chrono::steady_clock::now();
      });
    }
  }
  const auto time = *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
  return std::chrono::duration<double>(time).count();
}

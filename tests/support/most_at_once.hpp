/// Counting what exists at the same time while a test works, such as threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <latch>
#include <thread>

namespace test_support {

/// The threads that a sanitizer adds to a program, together with the first one that the program makes.
#ifdef __SANITIZE_THREAD__
constexpr std::size_t sanitizer_threads = 1;
#else
constexpr std::size_t sanitizer_threads = 0;
#endif

inline std::size_t threads_of_this_process() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

/// Runs `work` again and again until `count()` has been higher than before by `wanted` at some time during it, for 20
/// seconds at most. Returns by how much it was higher at most; the thread that looks is not counted.
template <typename Work>
std::size_t most_at_once(std::size_t (*count)(), std::size_t wanted, Work work) {
  std::atomic<std::size_t> most = 0;
  std::latch begun(1);
  std::jthread sampler([&](const std::stop_token& stop) {
    const std::size_t before = count();  // with this thread, and one of ThreadSanitizer's own, if there is one
    begun.count_down();
    while (!stop.stop_requested()) {
      const std::size_t now = count();
      if (now > before) most = std::max(most.load(), now - before);
    }
  });
  begun.wait();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (most < wanted && std::chrono::steady_clock::now() < end) work();
  return most;
}

}  // namespace test_support

/// A semaphore made of one atomic number.
#pragma once

#include <atomic>
#include <stdexcept>

/// Counts permits: acquire() takes one and waits while there is none, release() gives one back. The semaphore must
/// outlive all calls of release(): the permit may have been taken while its release() has not returned yet.
class Semaphore {
 public:
  /// Throws std::invalid_argument if `permits` is negative.
  explicit Semaphore(int permits) : permits_(permits) {
    if (permits < 0) throw std::invalid_argument("Semaphore: the number of permits must not be negative");
  }

  /// Takes a permit if there is one; never waits.
  bool try_acquire() {
    int seen = permits_.load();
    while (seen > 0) {
      // Decrements the number in one step if it is still `seen`; if not (or, rarely, for no reason), reads it again.
      if (permits_.compare_exchange_weak(seen, seen - 1)) return true;
    }
    return false;
  }

  void acquire() {
    while (!try_acquire()) permits_.wait(0);  // sleeps only while the number is 0
  }

  void release() {
    permits_.fetch_add(1);
    permits_.notify_one();
  }

 private:
  std::atomic<int> permits_;
};

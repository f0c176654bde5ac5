/// A barrier made of a mutex and a condition variable.
#pragma once

#include <condition_variable>
#include <mutex>

/// Holds each thread that comes until all have come; then it is ready for the next phase.
class HandMadeBarrier {
 public:
  explicit HandMadeBarrier(int threads) : threads_(threads) {}

  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    const long mine = phase_;
    if (++arrived_ < threads_) {
      phase_over_.wait(lock, [&] { return phase_ != mine; });
    } else {
      arrived_ = 0;
      ++phase_;
      phase_over_.notify_all();
    }
  }

 private:
  const int threads_;
  std::mutex mutex_;  // protects what follows
  std::condition_variable phase_over_;
  int arrived_ = 0;
  long phase_ = 0;
};

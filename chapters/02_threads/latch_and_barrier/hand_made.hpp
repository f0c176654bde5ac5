/// Two barriers made by hand: one that sleeps at once, and one that looks before it sleeps. As with std::barrier,
/// `completion` is called once a phase, when all threads have come and before one goes on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

/// A mutex, a condition variable, a count and the number of the phase. It must outlive its threads.
template <typename Completion>
class SleepingBarrier {
 public:
  SleepingBarrier(int threads, Completion completion)
      : threads_(threads), missing_(threads), completion_(std::move(completion)) {}

  void arrive_and_wait() {
    std::unique_lock hold(guard_);
    const long mine = phase_;
    if (--missing_ > 0) {
      // What is waited for is the next phase. "Until nobody is missing" would be wrong: before a slow thread has woken
      // up to look, a quick one may have come round again, and then threads are missing in the next phase.
      phase_over_.wait(hold, [&] { return phase_ != mine; });
      return;
    }
    completion_();
    missing_ = threads_;
    ++phase_;
    hold.unlock();  // else those who wake would run into the lock
    phase_over_.notify_all();
  }

 private:
  const int threads_;
  int missing_;
  long phase_ = 0;
  Completion completion_;
  std::mutex guard_;
  std::condition_variable phase_over_;
};

/// The same from two atomics. If each thread can have a core, it first looks for about as long as it takes to wake a
/// sleeper. If there are fewer cores it sleeps at once, since a thread that looks keeps from running the one that it
/// looks for.
template <typename Completion>
class LookingBarrier {
 public:
  LookingBarrier(int threads, Completion completion)
      : threads_(threads),
        looks_(threads <= static_cast<int>(std::thread::hardware_concurrency()) ? 100'000 : 0),
        completion_(std::move(completion)),
        missing_(threads) {}

  void arrive_and_wait() {
    const int mine = phase_.load(std::memory_order_relaxed);
    // Acquire and release, at both counters, show everything done before the barrier to everybody behind it.
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      completion_();
      missing_.store(threads_, std::memory_order_relaxed);
      phase_.store(mine + 1, std::memory_order_release);
      phase_.notify_all();  // a system call only if somebody sleeps
      return;
    }
    for (int look = 0; look < looks_; ++look) {
      if (phase_.load(std::memory_order_acquire) != mine) return;
    }
    phase_.wait(mine, std::memory_order_acquire);
  }

 private:
  const int threads_, looks_;
  Completion completion_;
  alignas(64) std::atomic<int> missing_;    // a cache line each, so that those who look at one
  alignas(64) std::atomic<int> phase_ = 0;  // are not disturbed by those who change the other
};

/// A flag that threads can wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

/// As Python's threading.Event: set() releases all threads that wait at that moment, even if clear() follows at once.
class Event {
 public:
  void set() {
    std::scoped_lock lock(mutex_);
    flag_ = true;
    ++generation_;
    changed_.notify_all();
  }

  void clear() {
    std::scoped_lock lock(mutex_);
    flag_ = false;
  }

  /// Returns at once if the flag is set, else at the next set(). To look at the flag alone would not do: when the
  /// thread wakes up and looks, clear() may have been called. The generation tells that there was a set() in the
  /// meantime.
  void wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [this, before = generation_] { return flag_ || generation_ != before; });
    --waiting_;
  }

  /// The same, but returns after `timeout` as well. Returns whether the event came.
  bool wait_for(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    const bool came =
        changed_.wait_for(lock, timeout, [this, before = generation_] { return flag_ || generation_ != before; });
    --waiting_;
    return came;
  }

  /// How many threads wait now; for tests and demonstrations.
  int waiting() {
    std::scoped_lock lock(mutex_);
    return waiting_;
  }

 private:
  std::mutex mutex_;  // protects everything below
  std::condition_variable changed_;
  bool flag_ = false;
  unsigned generation_ = 0;  // calls of set()
  int waiting_ = 0;          // only for waiting()
};

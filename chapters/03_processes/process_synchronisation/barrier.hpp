/// A barrier between processes.
#pragma once

#include <boost/interprocess/sync/interprocess_condition.hpp>
#include <boost/interprocess/sync/interprocess_mutex.hpp>
#include <chrono>
#include <mutex>

/// Holds a number of processes until all of them have come, again and again; to be made as Shared<Barrier>.
class Barrier {
 public:
  explicit Barrier(int parties) : parties_(parties) {}

  /// Waits until all have come, at most `timeout` (by the clock of the day: Boost's condition has no other). Returns
  /// whether they have come. One that has waited in vain breaks the barrier: all others get false, too, now and later.
  bool wait_for(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (broken_) return false;
    if (++arrived_ == parties_) {
      arrived_ = 0;
      ++phase_;
      changed_.notify_all();
      return true;
    }
    const long mine = phase_;
    changed_.wait_for(lock, timeout, [&] { return phase_ != mine || broken_; });
    if (phase_ != mine) return true;
    broken_ = true;
    changed_.notify_all();
    return false;
  }

 private:
  const int parties_;
  boost::interprocess::interprocess_mutex mutex_;  // protects everything below
  boost::interprocess::interprocess_condition changed_;
  int arrived_ = 0;
  long phase_ = 0;  // how often all have come
  bool broken_ = false;
};

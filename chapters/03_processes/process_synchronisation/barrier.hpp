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

  /// Waits until all have come, at most `timeout`. Returns whether they have come. One that has waited in vain no
  /// longer counts.
  bool wait_for(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (++arrived_ == parties_) {
      arrived_ = 0;
      ++phase_;
      all_have_come_.notify_all();
      return true;
    }
    const long mine = phase_;
    if (all_have_come_.wait_for(lock, timeout, [&] { return phase_ != mine; })) return true;
    --arrived_;
    return false;
  }

 private:
  const int parties_;
  boost::interprocess::interprocess_mutex mutex_;  // protects everything below
  boost::interprocess::interprocess_condition all_have_come_;
  int arrived_ = 0;
  long phase_ = 0;  // how often all have come
};

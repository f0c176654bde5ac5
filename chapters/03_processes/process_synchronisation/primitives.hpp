/// Primitives that Boost has ready for memory that processes share, and two made of them: event and barrier.
#pragma once

#include <boost/interprocess/sync/interprocess_condition.hpp>
#include <boost/interprocess/sync/interprocess_mutex.hpp>
#include <boost/interprocess/sync/interprocess_semaphore.hpp>
#include <chrono>
#include <mutex>

using Mutex = boost::interprocess::interprocess_mutex;
using Semaphore = boost::interprocess::interprocess_semaphore;
using Condition = boost::interprocess::interprocess_condition;

/// A flag that processes can wait for.
class Event {
 public:
  void set() {
    const std::scoped_lock lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }

  /// Waits until the flag is set, at most `timeout`. Returns whether it is set.
  bool wait_for(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return is_set_; });
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool is_set_ = false;
};

/// Holds a number of processes until all of them have come, again and again.
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
      changed_.notify_all();
      return true;
    }
    if (changed_.wait_for(lock, timeout, [&, mine = phase_] { return phase_ != mine; })) return true;
    --arrived_;
    return false;
  }

 private:
  const int parties_;
  Mutex mutex_;
  Condition changed_;
  int arrived_ = 0;
  long phase_ = 0;  // how often all have come
};

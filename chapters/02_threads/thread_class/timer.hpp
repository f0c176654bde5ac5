/// An object that runs in a thread: it ticks until it is done or is asked to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <vector>

#include "cookbook/measure.hpp"

class Timer {
 public:
  Timer(std::chrono::milliseconds period, int most_ticks) : period_(period), most_ticks_(most_ticks) {}

  /// What the thread runs.
  void operator()(std::stop_token stop) {
    const cookbook::Stopwatch watch;
    while (ticks_ < most_ticks_ && wait_a_period(stop)) {
      times_.push_back(watch.seconds());
      ++ticks_;
    }
  }

  /// How often it has ticked so far. May be called while the thread runs.
  int ticks() const { return ticks_; }

  /// When it has ticked, in seconds from the beginning of the thread. To be called after the join.
  const std::vector<double>& times() const { return times_; }

 private:
  /// Returns true when a period is over, and false as soon as a stop is requested.
  bool wait_a_period(std::stop_token stop) {
    std::condition_variable_any stop_or_timeout;  // only this kind of condition variable takes a stop token
    std::mutex mutex;                             // wait_for demands a lock; nobody else uses this one
    std::unique_lock lock(mutex);
    stop_or_timeout.wait_for(lock, stop, period_, [] { return false; });
    return !stop.stop_requested();
  }

  const std::chrono::milliseconds period_;
  const int most_ticks_;
  std::vector<double> times_;
  std::atomic<int> ticks_ = 0;  // atomic, because another thread may ask for it
};

/// The event itself.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

/// A flag to wait for. If it counts sets, a waiter goes on at a set() even if a clear() follows before it runs, as
/// with Python's threading.Event. If not, the waiter finds the flag down again and stays.
template <bool counts_sets>
class BasicEvent {
 public:
  void set() {
    std::scoped_lock hold(guard_);
    flag_ = true;
    ++sets_;
    changed_.notify_all();
  }

  void clear() {
    std::scoped_lock hold(guard_);
    flag_ = false;
  }

  /// set() and clear(), and no thread can come in between.
  void pulse() {
    std::scoped_lock hold(guard_);
    flag_ = false;
    ++sets_;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock hold(guard_);
    changed_.wait(hold, arrive());
  }

  /// The same, `limit` at most; whether the event came.
  bool wait_for(std::chrono::milliseconds limit) {
    std::unique_lock hold(guard_);
    return changed_.wait_for(hold, limit, arrive());
  }

  /// Returns once threads have come to wait `number` times in all, so that a demonstration need not sleep and hope.
  void wait_for_arrivals(int number) {
    std::unique_lock hold(guard_);
    arrived_.wait(hold, [&] { return arrivals_ >= number; });
  }

 private:
  /// Counts an arrival and returns the condition that the thread waits for. The caller holds the lock.
  auto arrive() {
    ++arrivals_;
    arrived_.notify_all();
    return [this, before = sets_] { return flag_ || (counts_sets && sets_ != before); };
  }

  std::mutex guard_;
  std::condition_variable changed_, arrived_;
  bool flag_ = false;
  unsigned sets_ = 0;
  int arrivals_ = 0;
};

using Event = BasicEvent<true>;
using FlagEvent = BasicEvent<false>;

/// Where threads sleep until something has changed, at a price for those who change it of one load while nobody sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

/// What a test looks at must be sequentially consistent atomics, as `occupied_` is: then all threads agree on one order
/// of these accesses, and no wake-up is lost. The sleeper says that it is here (1) and then looks (2); the other
/// changes something (3) and then asks whether someone is here (4). If the look misses the change, (2) came before (3),
/// so (1) came before (4), which therefore finds the room occupied, unless another thread has emptied it in between:
/// but that one wakes the sleeper too, which then looks again, after (3).
class WaitingRoom {
 public:
  using Clock = std::chrono::steady_clock;

  /// Sleeps until test() is true, however often it takes. False if `deadline` passed before; Clock::time_point::max()
  /// never does.
  template <typename Test>
  bool wait(Clock::time_point deadline, Test test) {
    std::unique_lock hold(door_);
    for (;;) {
      occupied_.store(true);    // (1)
      if (test()) return true;  // (2)
      if (deadline == Clock::time_point::max()) {
        changed_.wait(hold);
      } else if (changed_.wait_until(hold, deadline) == std::cv_status::timeout) {
        return test();
      }
    }
  }

  /// To be called after the change (3). It takes the door's lock, so the caller must not be in another room's test: two
  /// threads, each in one room and waking the other, would wait for each other for ever.
  void wake() {
    if (!occupied()) return;
    {
      // Who has the lock knows that the others are asleep, not between look and sleep.
      std::scoped_lock hold(door_);
      occupied_.store(false);
    }
    changed_.notify_all();
  }

  bool occupied() const { return occupied_.load(); }  // (4)

 private:
  std::atomic<bool> occupied_ = false;
  std::mutex door_;
  std::condition_variable changed_;
};

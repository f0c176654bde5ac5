/// Condition, event, semaphore and barrier between processes, each for memory that they share.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "cookbook/system_check.hpp"
#include "robust_mutex.hpp"
#include "shared_futex.hpp"

using Duration = std::chrono::nanoseconds;

/// A condition variable. It is a count of changes on which one sleeps, and not a pthread_cond_t: that one counts its
/// waiters, and when one of them has been killed it waits for the dead.
class Condition {
 public:
  /// Gives the lock back and sleeps until ready() holds, at most `limit`. Returns ready(), with the lock. Returns early
  /// if the lock's owner dies meanwhile, see hold.owner_died().
  template <typename Ready>
  bool wait_for(Hold& hold, Duration limit, Ready ready) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!ready() && !hold.owner_died()) {
      const Duration left = deadline - std::chrono::steady_clock::now();
      if (left <= Duration::zero()) return false;
      const std::uint32_t seen = changes_;  // while the lock is held: a change after this line is seen by futex_wait
      ++sleepers_;
      hold.unlock();
      futex_wait(changes_, seen, left);
      --sleepers_;
      hold.lock();
    }
    return ready();
  }

  void notify_all() {
    ++changes_;
    if (sleepers_ > 0) futex_wake(changes_);
  }

 private:
  FutexWord changes_ = 0;
  std::atomic<int> sleepers_ = 0;  // spares calls; who is killed asleep stays counted, and costs calls for nothing
};

/// A flag for which one can wait.
class Event {
 public:
  void set() {
    Hold hold(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }
  void clear() {
    Hold hold(mutex_);
    is_set_ = false;
  }
  bool wait_for(Duration limit) {
    Hold hold(mutex_);
    return changed_.wait_for(hold, limit, [&] { return is_set_; });
  }

 private:
  RobustMutex mutex_;
  Condition changed_;
  bool is_set_ = false;
};

/// A number of permits. Who dies with a permit takes it along: a semaphore has no owners.
class Semaphore {
 public:
  explicit Semaphore(unsigned permits) { check(sem_init(&semaphore_, 1, permits), "sem_init"); }  // 1: for processes
  ~Semaphore() { sem_destroy(&semaphore_); }
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  /// Waits for a permit, at most `limit`; whether it has got one.
  bool acquire_for(Duration limit) {
    timespec deadline;
    check(clock_gettime(CLOCK_MONOTONIC, &deadline), "clock_gettime");
    const Duration end = std::chrono::seconds(deadline.tv_sec) + Duration(deadline.tv_nsec) + limit;
    deadline = {end / std::chrono::seconds(1), (end % std::chrono::seconds(1)).count()};
    int result = 0;
    do {
      result = sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &deadline);
    } while (result == -1 && errno == EINTR);
    if (result == -1 && errno == ETIMEDOUT) return false;
    check(result, "sem_clockwait");
    return true;
  }
  void release() { check(sem_post(&semaphore_), "sem_post"); }

 private:
  sem_t semaphore_;
};

/// Holds a number of parties until all have come, phase by phase. If one waits longer than its limit, the barrier is
/// broken: all who wait or come later are told so, until a reset().
class Barrier {
 public:
  enum class Result { all_here, timed_out, broken };

  explicit Barrier(int parties) : parties_(parties) {}

  Result wait_for(Duration limit) {
    Hold hold(mutex_);
    if (broken_) return Result::broken;
    const long mine = phase_;
    if (++arrived_ == parties_) {
      arrived_ = 0;
      ++phase_;
      changed_.notify_all();
      return Result::all_here;
    }
    const bool in_time = changed_.wait_for(hold, limit, [&] { return phase_ != mine || broken_; });
    if (phase_ != mine) return Result::all_here;
    if (in_time) return Result::broken;
    broken_ = true;
    changed_.notify_all();
    return Result::timed_out;
  }

  /// Makes a broken barrier usable again, when nobody waits at it.
  void reset() {
    Hold hold(mutex_);
    arrived_ = 0;
    broken_ = false;
  }

 private:
  RobustMutex mutex_;
  Condition changed_;
  const int parties_;
  int arrived_ = 0;
  long phase_ = 0;
  bool broken_ = false;
};

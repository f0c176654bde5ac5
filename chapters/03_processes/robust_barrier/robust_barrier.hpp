/// A barrier that notices the death of a process.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>

#include "cookbook/posix.hpp"
#include "robust_mutex.hpp"
#include "shared_futex.hpp"

/// Holds a number of processes until all of them have come, again and again; to be made as Shared<RobustBarrier>. It
/// breaks if a process dies with the lock, which wait_for() and waiting() take, or does not come in time. Once broken
/// it stays so.
class RobustBarrier {
 public:
  /// How long a process sleeps at most before it looks again: one that has died could not wake anybody.
  static constexpr std::chrono::milliseconds look_again{100};

  explicit RobustBarrier(int parties) : parties_(parties) { init_robust(mutex_); }
  ~RobustBarrier() { pthread_mutex_destroy(&mutex_); }

  /// Waits until all have come, at most `timeout` besides the time for which another process holds the lock. Returns
  /// whether they have come. If not, the barrier is broken.
  bool wait_for(std::chrono::nanoseconds timeout) {
    constexpr std::chrono::hours a_century(24 * 365 * 100);  // nanoseconds::max() would not fit into the sum
    const auto deadline = std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(timeout, a_century);
    const std::scoped_lock lock(*this);
    const long my_phase = phase_;
    if (++arrived_ == parties_ && !broken_) {
      arrived_ = 0;
      ++phase_;
      wake_all();
    }
    while (phase_ == my_phase && !broken_) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left > left.zero()) {
        sleep(std::min<std::chrono::nanoseconds>(left, look_again));
      } else {
        break_for_all();
      }
    }
    return phase_ != my_phase;
  }

  /// How many have come in this phase, with those that died asleep. The number means nothing once the barrier is
  /// broken.
  int waiting() {
    const std::scoped_lock lock(*this);
    return arrived_;
  }

  /// Usually called by wait_for() and waiting() alone. Public, so that std::scoped_lock lock(*this) can call it.
  void lock() {
    const int error = pthread_mutex_lock(&mutex_);
    if (error == 0) return;
    if (error != EOWNERDEAD) return check_error(error, "pthread_mutex_lock");  // which ends the program
    break_for_all();  // the last owner has died, and nobody repairs here: all are told
    check_error(pthread_mutex_consistent(&mutex_), "pthread_mutex_consistent");
  }
  void unlock() { check_error(pthread_mutex_unlock(&mutex_), "pthread_mutex_unlock"); }

 private:
  void break_for_all() {
    broken_ = true;
    wake_all();
  }
  void wake_all() {
    ++changes_;
    futex_wake(changes_);
  }

  /// Gives up the lock while it sleeps: until somebody calls wake_all(), but at most `limit`.
  void sleep(std::chrono::nanoseconds limit) {
    const std::uint32_t seen = changes_;  // with the lock: a wake_all() after this line ends futex_wait
    unlock();
    futex_wait(changes_, seen, limit);
    lock();
  }

  const int parties_;
  pthread_mutex_t mutex_;
  FutexWord changes_ = 0;  // how often wake_all() has been called, modulo 2^32
  int arrived_ = 0;
  long phase_ = 0;  // how often all have come
  bool broken_ = false;
};

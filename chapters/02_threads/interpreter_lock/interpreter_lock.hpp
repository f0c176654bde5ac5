/// The global interpreter lock of CPython, simulated.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

/// One thread at a time holds it, as one thread at a time runs Python code. Threads get it in the order in which they
/// ask for it. It has lock() and unlock(), so std::scoped_lock can hold it.
class InterpreterLock {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds switch_interval{5};  // as in CPython since version 3.2

  void lock() {
    std::unique_lock guard(mutex_);
    const long ticket = next_ticket_++;
    if (ticket == serving_ + 1) waiting_since_ = Clock::now();  // this is the first one that waits
    changed_.wait(guard, [&] { return serving_ == ticket; });
    waiting_since_ = Clock::now();  // those behind it wait for this holder from now on
  }

  void unlock() {
    std::scoped_lock guard(mutex_);
    ++serving_;
    changed_.notify_all();  // wakes all that wait, because only one of them has this ticket
  }

  /// To be called often while computing: if another thread has waited 5 ms for this one, it gets the lock, and this one
  /// waits for its next turn. (Tests give a time of their own as `now`.)
  void checkpoint(Clock::time_point now = Clock::now()) {
    // This thread holds the lock, so nobody stops waiting between the two looks.
    if (waiting() == 0 || now - waiting_since() < switch_interval) return;
    unlock();
    lock();
  }

  /// Runs `call`, which waits for something, without the lock; returns what it returns, with the lock.
  template <typename Call>
  decltype(auto) allow_threads(Call call) {
    struct LockAgain {
      InterpreterLock& gil;
      ~LockAgain() { gil.lock(); }
    };
    unlock();
    const LockAgain at_the_end{*this};  // also if `call` throws
    return call();
  }

  /// How many threads wait for the lock.
  long waiting() const {
    std::scoped_lock guard(mutex_);
    return std::max(0L, next_ticket_ - serving_ - 1);  // less the holder; 0 also if the lock is free
  }

 private:
  /// When the first of those that wait began to wait for this holder.
  Clock::time_point waiting_since() const {
    std::scoped_lock guard(mutex_);
    return waiting_since_;
  }

  mutable std::mutex mutex_;  // protects what follows
  std::condition_variable changed_;
  long next_ticket_ = 0, serving_ = 0;
  Clock::time_point waiting_since_;
};

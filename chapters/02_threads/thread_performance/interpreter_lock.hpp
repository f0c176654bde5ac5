/// The global interpreter lock of CPython, simulated.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

/// At most one thread is inside at a time, as at most one thread runs Python code. The lock is fair, first come, first
/// served; CPython's makes sure that another thread gets its turn, too. Made with `enabled` false it lets everybody in.
class InterpreterLock {
 public:
  using Clock = std::chrono::steady_clock;

  explicit InterpreterLock(bool enabled) : enabled_(enabled) {}

  void enter() {
    if (!enabled_) return;
    std::unique_lock hold(guard_);
    const long ticket = next_ticket_++;
    changed_.wait(hold, [&] { return serving_ == ticket; });
    entered_ = Clock::now();
  }

  void leave() {
    if (!enabled_) return;
    {
      std::scoped_lock hold(guard_);
      ++serving_;
    }
    changed_.notify_all();
  }

  /// To be called now and then while computing: lets the next thread in, if this one has been inside for 5 ms, which is
  /// CPython's interval since version 3.2.
  void checkpoint() {
    if (!enabled_ || Clock::now() - entered_ < std::chrono::milliseconds(5)) return;
    leave();
    enter();
  }

  /// Runs a call of the system that may wait, outside the lock; returns what it returns.
  template <typename Call>
  auto blocking(Call call) {
    leave();
    const auto result = call();
    enter();
    return result;
  }

 private:
  const bool enabled_;
  std::mutex guard_;
  std::condition_variable changed_;
  long next_ticket_ = 0;
  long serving_ = 0;
  Clock::time_point entered_;  // of the thread inside, and written and read by that one only
};

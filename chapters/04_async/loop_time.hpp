/// Time for coroutines: real seconds at any scale, or a virtual clock on which nobody waits.
#pragma once

#include <boost/asio.hpp>
#include <chrono>
#include <map>
#include <memory>

/// Lets the coroutines of one loop sleep, each by an asio::steady_timer of its own. A second takes as long as `second`.
/// If that is 0, the clock is virtual: whenever all coroutines sleep, run() sets it forward to the end of the next
/// sleep.
///
/// In which order they wake does not depend on the load of the machine: a sleep is counted from the time when its
/// coroutine was due, not from the time when it ran, and of those that are due together the one that fell asleep first
/// goes first.
class LoopTime {
 public:
  LoopTime(boost::asio::io_context& loop, std::chrono::milliseconds second) : loop_(loop), second_(second) {}
  LoopTime(const LoopTime&) = delete;
  LoopTime& operator=(const LoopTime&) = delete;

  /// Suspends the coroutine for so many seconds. Throws operation_aborted if it is cancelled meanwhile.
  boost::asio::awaitable<void> sleep(double seconds) {
    const double due = now_ + seconds;
    const auto timer = std::make_shared<boost::asio::steady_timer>(loop_, Clock::time_point::max());
    if (second_.count() > 0) {
      // Asio promises no order for timers that are due at once. So each is a nanosecond later than the one before.
      const auto turn = Clock::duration(++sleeps_);
      timer->expires_at(start_ + std::chrono::duration_cast<Clock::duration>(due * second_) + turn);
      co_await timer->async_wait(boost::asio::use_awaitable);
      now_ = due;
    } else {
      sleepers_.emplace(due, timer);
      boost::system::error_code cancelled;  // run() wakes a sleeper by cancelling its timer
      co_await timer->async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, cancelled));
      if (now_ < due) throw boost::system::system_error(cancelled);  // by somebody else
    }
  }

  /// The time, in seconds since the start, when the coroutine that runs was due.
  double now() const { return now_; }

  /// Runs the loop until nothing is left to do.
  void run() {
    if (second_.count() > 0) loop_.run();
    for (loop_.poll(); !sleepers_.empty(); loop_.poll()) {
      const auto next = sleepers_.begin();
      if (const auto timer = next->second.lock()) {  // else the sleep was cancelled
        now_ = next->first;
        timer->cancel();
      }
      sleepers_.erase(next);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  boost::asio::io_context& loop_;
  std::chrono::milliseconds second_;
  Clock::time_point start_ = Clock::now();
  int sleeps_ = 0;
  double now_ = 0;
  /// By the end of the sleep; equal keys stay in the order of insertion. Each timer belongs to the coroutine that
  /// sleeps, so that nothing is left behind when that one is cancelled or destroyed.
  std::multimap<double, std::weak_ptr<boost::asio::steady_timer>> sleepers_;
};

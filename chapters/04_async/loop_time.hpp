/// Time for coroutines: real seconds at any scale, or a virtual clock on which nobody waits.
#pragma once

#include <boost/asio.hpp>
#include <chrono>
#include <map>
#include <memory>

/// Lets the coroutines of one loop sleep. A second takes as long as `second`. If that is 0, the clock is virtual:
/// nobody waits for it.
///
/// In which order they wake does not depend on the load of the machine: run() wakes them one after another, and lets
/// each do all that it can before it wakes the next one. A sleep is counted from the time when its coroutine was due,
/// not from the time when it ran, and of those that are due together the one that fell asleep first goes first.
class LoopTime {
 public:
  LoopTime(boost::asio::io_context& loop, std::chrono::milliseconds second) : loop_(loop), second_(second) {}
  LoopTime(const LoopTime&) = delete;
  LoopTime& operator=(const LoopTime&) = delete;

  /// Suspends the coroutine for so many seconds. Throws operation_aborted if it is cancelled meanwhile.
  boost::asio::awaitable<void> sleep(double seconds) {
    const double due = now_ + seconds;
    const auto timer = std::make_shared<boost::asio::steady_timer>(loop_, Clock::time_point::max());
    sleepers_.emplace(due, timer);
    boost::system::error_code cancelled;  // run() wakes a sleeper by cancelling its timer
    co_await timer->async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, cancelled));
    if (now_ < due) throw boost::system::system_error(cancelled);  // by somebody else
  }

  /// The time, in seconds since the start, when the coroutine that runs was due.
  double now() const { return now_; }

  /// Runs the loop until nobody sleeps, and nothing is ready.
  void run() {
    for (loop_.poll(); !sleepers_.empty(); loop_.poll()) {
      const auto next = sleepers_.begin();
      const Clock::time_point due = start_ + std::chrono::duration_cast<Clock::duration>(next->first * second_);
      if (const auto timer = next->second.lock()) {  // else the sleep was cancelled
        if (Clock::now() < due) {
          loop_.run_one_until(due);  // something else may happen meanwhile
          continue;
        }
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
  double now_ = 0;
  /// By the end of the sleep; equal keys stay in the order of insertion. Each timer belongs to the coroutine that
  /// sleeps, so that nothing is left behind when that one is cancelled or destroyed.
  std::multimap<double, std::weak_ptr<boost::asio::steady_timer>> sleepers_;
};

/// An event loop small enough to read. The loops of asyncio and of Asio work much the same way, but they sleep, and
/// promise no order of timers that are due together. Asio's also stops in the middle of a turn.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

/// Calls callbacks one after another, in one thread. Its clock is virtual: where another loop would sleep until the
/// next timer is due, this one sets its clock forward. Not for use by several threads.
class SmallLoop {
 public:
  using Callback = std::function<void()>;

  /// Queues `callback`. The loop calls it in its next turn, never inside of this function.
  void call_soon(Callback callback) { ready_.push_back(std::move(callback)); }

  /// Queues `callback` for `delay` seconds from now. Of several that are due together the one queued first goes first.
  void call_later(double delay, Callback callback) { timers_.push({now_ + delay, ++queued_, std::move(callback)}); }

  /// Seconds on the loop's clock.
  double time() const { return now_; }

  /// Runs until a callback calls stop(), or until nothing is left to wait for.
  void run() {
    stopped_ = false;
    while (!stopped_ && !(ready_.empty() && timers_.empty())) {
      if (ready_.empty()) now_ = timers_.top().due;  // a loop with a real clock sleeps here
      for (; !timers_.empty() && timers_.top().due <= now_; timers_.pop()) ready_.push_back(timers_.top().callback);
      // One turn: what these callbacks queue waits for the next turn, behind the rest of this one.
      for (std::size_t turn = ready_.size(); turn > 0; --turn) {
        const Callback callback = std::move(ready_.front());
        ready_.pop_front();
        callback();
      }
    }
  }

  /// Ends run() after the current turn. What is still queued stays queued.
  void stop() { stopped_ = true; }

  /// How many callbacks are queued: after stop(), what has not been called.
  std::size_t pending() const { return ready_.size() + timers_.size(); }

 private:
  struct Timer {
    double due;
    long number;  // in the order of queueing
    Callback callback;

    /// std::priority_queue has the greatest element on top, so the timer that is due first has to be the greatest.
    bool operator<(const Timer& other) const { return due != other.due ? due > other.due : number > other.number; }
  };

  std::deque<Callback> ready_;
  std::priority_queue<Timer> timers_;
  double now_ = 0;
  long queued_ = 0;
  bool stopped_ = false;
};

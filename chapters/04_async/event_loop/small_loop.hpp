/// An event loop small enough to read: what asyncio's and Asio's loops are at heart.
#pragma once

#include <deque>
#include <functional>
#include <queue>
#include <vector>

/// Runs callbacks one after another in one thread. Its clock is virtual: instead of waiting for the next timer, the
/// loop sets its clock to that timer's due time, so a run of nine seconds takes none. Not for use by several threads.
class SmallLoop {
 public:
  using Callback = std::function<void()>;

  /// Queues `callback`; it runs in the next turn of the loop, never inside this call.
  void call_soon(Callback callback) { ready_.push_back(std::move(callback)); }

  /// Queues `callback` for `delay` seconds from now. Of two with the same due time the one scheduled first runs first.
  void call_later(double delay, Callback callback) { timers_.push({now_ + delay, scheduled_++, std::move(callback)}); }

  /// Seconds on the loop's clock.
  double time() const { return now_; }

  /// Runs until stop(), or until nothing is left to wait for.
  void run() {
    stopped_ = false;
    while (!stopped_ && (!ready_.empty() || !timers_.empty())) {
      if (ready_.empty()) now_ = timers_.top().due;  // a loop with a real clock sleeps here
      while (!timers_.empty() && timers_.top().due <= now_) {
        ready_.push_back(timers_.top().callback);
        timers_.pop();
      }
      // What these callbacks queue waits for the next turn, else the timers would never be due beside one that queues
      // itself.
      for (std::size_t turn = ready_.size(); turn > 0; --turn) {
        const Callback callback = std::move(ready_.front());
        ready_.pop_front();
        callback();
      }
    }
  }

  /// Ends run() after the current turn.
  void stop() { stopped_ = true; }

  /// How many callbacks are queued and have not run.
  std::size_t pending() const { return ready_.size() + timers_.size(); }

 private:
  struct Timer {
    double due;
    long number;  ///< order of scheduling
    Callback callback;

    /// std::priority_queue has the largest on top, so the order is turned round.
    bool operator<(const Timer& other) const { return due != other.due ? due > other.due : number > other.number; }
  };

  std::deque<Callback> ready_;
  std::priority_queue<Timer> timers_;
  double now_ = 0;
  long scheduled_ = 0;
  bool stopped_ = false;
};

/// A pool of threads for many small tasks: it wakes as few workers as possible.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

/// Which sleeping workers a pool wakes: one for each task, or one only if no other is on its way to the queue.
enum class Wake { one_per_task, few };

/// Runs tasks in threads. All workers take their tasks from one queue, one at a time, so no task waits while a worker
/// has nothing to do.
class FairThreadPool {
 public:
  using Task = std::function<void()>;

  /// Starts the workers. Throws std::invalid_argument if there are none: no task would ever run.
  explicit FairThreadPool(int workers, Wake wake = Wake::few) : wake_(wake) {
    if (workers < 1) throw std::invalid_argument("FairThreadPool: at least one worker is needed");
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
  }

  /// Shuts down: waits until all tasks that were posted have run, and ends the workers.
  ~FairThreadPool() {
    {
      std::scoped_lock lock(mutex_);
      closed_ = true;
    }
    woken_.notify_all();
  }  // here the destructors of the workers wait for their ends

  /// Hands in a task, and returns at once. An exception that leaves the task ends the program.
  void post(Task task) {
    bool wake = false;
    {
      std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
      wake = must_wake();
    }
    if (wake) woken_.notify_one();
  }

  /// How many sleeping workers have been woken so far.
  long wake_ups() const {
    std::scoped_lock lock(mutex_);
    return wake_ups_;
  }

  /// How many workers sleep, and were not woken.
  int sleeping() const {
    std::scoped_lock lock(mutex_);
    return sleeping_;
  }

 private:
  /// Whether the caller, who holds the lock, has to wake a worker.
  bool must_wake() {
    if (tasks_.empty() || sleeping_ == 0) return false;
    if (wake_ == Wake::few && on_the_way_ > 0) return false;  // that one will come, and wake the next if more is there
    --sleeping_;
    ++on_the_way_;
    ++wake_ups_;
    return true;
  }

  /// What each worker does: take the oldest task, run it, and so on.
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (!tasks_.empty()) {
        Task task = std::move(tasks_.front());
        tasks_.pop_front();
        const bool wake = wake_ == Wake::few && must_wake();  // more is there than this worker takes
        lock.unlock();
        if (wake) woken_.notify_one();
        task();
        task = nullptr;  // gives back what the task holds, while no lock is held
        lock.lock();
      } else if (closed_) {
        return;
      } else {
        ++sleeping_;
        woken_.wait(lock, [&] { return on_the_way_ > 0 || closed_; });
        if (on_the_way_ > 0) --on_the_way_;  // it has arrived
      }
    }
  }

  const Wake wake_;
  mutable std::mutex mutex_;       // for all that follows
  std::condition_variable woken_;  // on_the_way_ has grown, or the pool is closed
  std::deque<Task> tasks_;
  int sleeping_ = 0, on_the_way_ = 0;  // workers that nobody has woken; that were woken, and hold no lock yet
  long wake_ups_ = 0;
  bool closed_ = false;
  std::vector<std::jthread> workers_;  // the last member, so it is destroyed first, while the others still exist
};

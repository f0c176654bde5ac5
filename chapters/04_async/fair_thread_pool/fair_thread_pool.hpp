/// A pool of threads for many small tasks.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

/// Runs tasks in threads, as a pool with one queue does. But one lock serves all tasks that have been posted since the
/// last lock, and yet no task waits behind a long one while a worker is idle.
class FairThreadPool {
 public:
  using Task = std::function<void()>;
  using Clock = std::chrono::steady_clock;

  /// Starts the workers. Each looks for tasks for the time `look` before it sleeps. Throws std::invalid_argument if
  /// there are no workers: no task would ever run.
  explicit FairThreadPool(int workers, std::chrono::microseconds look = std::chrono::microseconds(30)) : look_(look) {
    if (workers < 1) throw std::invalid_argument("FairThreadPool: at least one worker is needed");
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
  }

  /// Shuts down: waits until all tasks that were posted have run, and ends the workers.
  ~FairThreadPool() {
    {
      std::scoped_lock lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }  // here the destructors of the workers wait for their ends

  /// Hands in a task, and returns at once. An exception that leaves the task ends the program.
  void post(Task task) {
    {
      std::scoped_lock lock(mutex_);
      if (posted_.empty()) some_posted_ = true;
      posted_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  /// Tasks that the workers share. Whoever increments `next` gets a number, and runs the task with this number.
  struct Batch {
    std::vector<Task> tasks;
    std::atomic<std::size_t> next = 0;
  };

  /// What each worker does: take one task after another from a batch, and go on with the next batch.
  void work() {
    std::shared_ptr<Batch> batch;
    while ((batch = batch_after(batch))) {
      for (std::size_t n; (n = batch->next++) < batch->tasks.size();) {
        const Task task = std::move(batch->tasks[n]);
        task();
      }
    }
  }

  /// Waits for the batch that comes after `used_up`. Returns nothing once the pool is closed and no task is left.
  std::shared_ptr<Batch> batch_after(const std::shared_ptr<Batch>& used_up) {
    look_for_tasks();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || batch_ != used_up || !posted_.empty(); });
    if (batch_ != used_up) return batch_;  // another worker has made it
    if (posted_.empty()) return nullptr;
    batch_ = std::make_shared<Batch>();
    batch_->tasks.swap(posted_);
    some_posted_ = false;
    return batch_;
  }

  /// Saves time only: to sleep and to be woken takes longer than many small tasks. So an idle worker looks for new
  /// tasks for a while, without a lock, before it sleeps.
  void look_for_tasks() const {
    const Clock::time_point end = Clock::now() + look_;
    while (!some_posted_ && Clock::now() < end) continue;
  }

  const Clock::duration look_;
  std::mutex mutex_;  // for posted_, batch_ and closed_
  std::condition_variable changed_;
  std::vector<Task> posted_;      // since the last batch was made
  std::shared_ptr<Batch> batch_;  // the last one that was made
  bool closed_ = false;
  alignas(64) std::atomic<bool> some_posted_ = false;  // on a cache line of its own, because idle workers look at it
  std::vector<std::jthread> workers_;  // the last member, so it is destroyed first, while the others still exist
};

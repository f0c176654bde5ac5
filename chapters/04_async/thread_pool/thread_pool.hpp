/// A pool of threads that run tasks.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

class ThreadPool {
 public:
  using Task = std::function<void()>;

  /// Starts the workers. Throws std::invalid_argument if there is none: no task would ever run. If one cannot be
  /// started, the destructor ends the others: it runs even then, because the other constructor has succeeded.
  explicit ThreadPool(int workers) : ThreadPool() {
    if (workers < 1) throw std::invalid_argument("ThreadPool: at least one worker is needed");
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
  }

  /// Shuts down: waits until all tasks that were handed in have run, and ends the workers.
  ~ThreadPool() {
    {
      std::scoped_lock lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }  // here the destructors of the workers wait for their ends

  /// Hands in a task without a future, and returns at once. An exception that leaves the task ends the program.
  void post(Task task) {
    {
      std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

  /// Hands in a call of `function`. The future gets what the function returns, or the exception that leaves it.
  template <typename Function>
  auto submit(Function function) {
    using Returned = std::invoke_result_t<Function&>;
    // A packaged_task cannot be copied, but what is in a std::function has to be: so it gets a pointer.
    const auto task = std::make_shared<std::packaged_task<Returned()>>(std::move(function));
    std::future<Returned> result = task->get_future();
    post([task] { (*task)(); });
    return result;
  }

 private:
  ThreadPool() = default;

  /// What each worker does: take the oldest task, run it, and so on. Sleeps while there is none.
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closed_ || !tasks_.empty(); });
      if (tasks_.empty()) return;  // the pool is closed, and nothing is left to run
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();  // so that others can take and hand in tasks while this one runs
      task();
    }
  }

  std::mutex mutex_;  // for tasks_ and closed_
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool closed_ = false;
  std::vector<std::jthread> workers_;  // the last member, so it is destroyed first, while the others still exist
};

/// A thread pool whose tasks cost less than 100 ns: a queue a worker, tasks taken in batches, sleepers woken once a
/// burst.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
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

class SmallPool {
 public:
  using Task = std::function<void()>;

  /// Starts `workers` threads. Throws std::invalid_argument for less than one.
  explicit SmallPool(int workers) : queues_(checked(workers)) {
    for (std::size_t i = 0; i < queues_.size(); ++i) threads_.emplace_back([this, i] { work(i); });
  }

  /// Shuts down: does all tasks that were posted, then ends the workers.
  ~SmallPool() {
    closed_ = true;
    wake();
  }

  /// Lets a worker call `task` some time, and returns at once. An exception that leaves the task ends the program.
  void post(Task task) {
    std::unique_lock<std::mutex> hold;
    Queue* queue = nullptr;
    // A lock that a worker has just now is not waited for: the next queue will do as well.
    for (std::size_t tries = 0; !hold && tries < 4 * queues_.size(); ++tries) {
      queue = &queues_[turn_.fetch_add(1, std::memory_order_relaxed) % queues_.size()];
      hold = std::unique_lock(queue->guard, std::try_to_lock);
    }
    if (!hold) hold = std::unique_lock(queue->guard);
    queue->tasks.push_back(std::move(task));
    hold.unlock();
    if (someone_sleeps_) wake();
  }

  /// The same, with a future that gets what the function returns, or the exception that leaves it.
  template <typename Function>
  auto submit(Function function) {
    using Returned = std::invoke_result_t<Function&>;
    auto task = std::make_shared<std::packaged_task<Returned()>>(std::move(function));
    std::future<Returned> result = task->get_future();
    post([task] { (*task)(); });
    return result;
  }

 private:
  struct alignas(64) Queue {  // a cache line of its own: who locks one queue does not disturb the next
    std::mutex guard;
    std::deque<Task> tasks;
  };

  static std::size_t checked(int workers) {
    if (workers < 1) throw std::invalid_argument("a pool needs at least one worker");
    return static_cast<std::size_t>(workers);
  }

  /// Moves half of the queue's tasks to `batch`, at most 64: what is taken waits behind the first of them, what stays
  /// can be taken by others. One lock then serves many small tasks, and large ones spread over the workers.
  static bool take(Queue& queue, std::vector<Task>& batch) {
    std::scoped_lock hold(queue.guard);
    const std::size_t count = std::min<std::size_t>((queue.tasks.size() + 1) / 2, 64);
    const auto end = queue.tasks.begin() + static_cast<std::ptrdiff_t>(count);
    batch.assign(std::make_move_iterator(queue.tasks.begin()), std::make_move_iterator(end));
    queue.tasks.erase(queue.tasks.begin(), end);
    return count > 0;
  }

  /// From the worker's own queue, or from the first of the others that has something.
  bool take_any(std::size_t own, std::vector<Task>& batch) {
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      if (take(queues_[(own + i) % queues_.size()], batch)) return true;
    }
    return false;
  }

  static void run(std::vector<Task>& batch) {
    for (Task& task : batch) {
      task();
      task = nullptr;  // what it holds is given back now, not when the next batch comes
    }
  }

  void work(std::size_t own) {
    std::vector<Task> batch;
    for (int idle = 0;;) {
      if (take_any(own, batch)) {
        run(batch);
        idle = 0;
      } else if (++idle < 20) {
        look_away();
      } else {
        // Announced first, looked again then: a task posted in between is seen here, or its poster sees the flag.
        const unsigned wakes = wakes_;
        someone_sleeps_ = true;
        if (take_any(own, batch)) {
          run(batch);
        } else if (closed_) {
          return;
        } else {
          wakes_.wait(wakes);
        }
      }
    }
  }

  /// A few microseconds, in which the queues fill: a worker that looks without a pause takes one task at a time, and
  /// keeps the cache line with the lock from whoever posts.
  static void look_away() {
    for (int i = 0; i < 100; ++i) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#else
      std::this_thread::yield();
#endif
    }
  }

  /// Wakes all who sleep. The flag is taken back first, so a burst of tasks makes one system call, not one a task.
  void wake() {
    if (!someone_sleeps_.exchange(false) && !closed_) return;
    ++wakes_;
    wakes_.notify_all();
  }

  std::vector<Queue> queues_;
  alignas(64) std::atomic<std::size_t> turn_ = 0;  // apart from what the workers read
  alignas(64) std::atomic<bool> someone_sleeps_ = false, closed_ = false;
  std::atomic<unsigned> wakes_ = 0;
  std::vector<std::jthread> threads_;  // last, so that it is destroyed first, when the workers still need the rest
};

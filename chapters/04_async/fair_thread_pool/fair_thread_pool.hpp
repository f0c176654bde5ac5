/// A pool of threads for many small tasks: it wakes few workers, and its tasks lie in several queues.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

/// Which sleeping workers a pool wakes: one for each task, or one only if no other is on its way to the queues.
enum class Wake { one_per_task, few };

/// Runs tasks in threads. Each worker takes one task at a time, from all queues in turn, so no task waits for the end
/// of a long one while another worker sleeps.
class FairThreadPool {
 public:
  using Task = std::function<void()>;

  /// Starts the workers. There are as many queues as workers, or the number in `queues` if it is not 0. Throws
  /// std::invalid_argument if there are no workers: no task would ever run. It begins by the other constructor, so that
  /// the destructor runs even if this one throws: then it ends the workers that were started.
  explicit FairThreadPool(int workers, Wake wake = Wake::few, int queues = 0)
      : FairThreadPool(wake, static_cast<std::size_t>(std::max(queues == 0 ? workers : queues, 1))) {
    if (workers < 1) throw std::invalid_argument("FairThreadPool: at least one worker is needed");
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this, i] { work(static_cast<std::size_t>(i)); });
  }

  /// Shuts down: waits until all tasks that were posted have run, and ends the workers.
  ~FairThreadPool() {
    {
      std::scoped_lock lock(sleepers_mutex_);
      closed_ = true;
    }
    woken_.notify_all();
  }  // here the destructors of the workers wait for their ends

  /// Hands in a task, and returns at once. An exception that leaves the task ends the program.
  void post(Task task) {
    static thread_local std::size_t turn = 0;  // each thread fills the queues in turn
    Queue& queue = queues_[turn++ % queues_.size()];
    {
      std::scoped_lock lock(queue.mutex);
      queue.tasks.push_back(std::move(task));
      queue.size = queue.tasks.size();
    }
    wake_one_if_needed();
  }

  /// How many sleeping workers have been woken so far.
  long wake_ups() const {
    std::scoped_lock lock(sleepers_mutex_);
    return wake_ups_;
  }

  /// How many workers sleep, and were not woken.
  int sleeping() const { return sleeping_; }

 private:
  /// Queues that lie in different cache lines do not slow each other down.
  struct alignas(64) Queue {
    std::mutex mutex;
    std::deque<Task> tasks;
    std::atomic<std::size_t> size = 0;  // of tasks, to be read without the lock
  };

  FairThreadPool(Wake wake, std::size_t queues) : wake_(wake), queues_(queues) {}

  bool enough_are_awake() const { return sleeping_ == 0 || (wake_ == Wake::few && on_the_way_ > 0); }

  void wake_one_if_needed() {
    if (enough_are_awake()) return;  // if few are woken, it mostly ends here, without a lock
    {
      std::scoped_lock lock(sleepers_mutex_);
      if (enough_are_awake()) return;
      --sleeping_;
      ++on_the_way_;
      ++wake_ups_;
    }
    woken_.notify_one();
  }

  /// What each worker does: take a task, run it, and so on.
  void work(std::size_t turn) {
    for (;;) {
      if (Task task; take(turn++, task)) {
        if (wake_ == Wake::few && !enough_are_awake() && any_task()) wake_one_if_needed();  // tasks are left
        task();
      } else if (!sleep()) {
        return;  // the pool is closed and empty
      }
    }
  }

  /// Takes the oldest task of one queue: of number `first`, or of the next one that has a task.
  bool take(std::size_t first, Task& task) {
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      Queue& queue = queues_[(first + i) % queues_.size()];
      if (queue.size == 0) continue;
      std::scoped_lock lock(queue.mutex);
      if (queue.tasks.empty()) continue;  // another worker was faster
      task = std::move(queue.tasks.front());
      queue.tasks.pop_front();
      queue.size = queue.tasks.size();
      return true;
    }
    return false;
  }

  bool any_task() const {
    return std::any_of(queues_.begin(), queues_.end(), [](const Queue& queue) { return queue.size > 0; });
  }

  /// Lets a worker that has found no task sleep until it is woken. Returns false if the pool is closed and empty.
  bool sleep() {
    std::unique_lock lock(sleepers_mutex_);
    ++sleeping_;  // who posts a task after this wakes a worker; a task that was posted before is found now
    if (const bool found = any_task(); found || closed_) {
      --sleeping_;
      return found;
    }
    woken_.wait(lock, [&] { return on_the_way_ > 0 || closed_; });
    if (on_the_way_ > 0) {
      --on_the_way_;  // it has arrived
    } else {
      --sleeping_;
    }
    return true;
  }

  const Wake wake_;
  std::vector<Queue> queues_;
  mutable std::mutex sleepers_mutex_;  // for the changes of what follows
  std::condition_variable woken_;      // on_the_way_ has grown, or the pool is closed
  std::atomic<int> sleeping_ = 0;      // workers that nobody has woken
  std::atomic<int> on_the_way_ = 0;    // workers that were woken, and have not come to the queues yet
  long wake_ups_ = 0;
  bool closed_ = false;
  std::vector<std::jthread> workers_;  // the last member, so it is destroyed first, while the others still exist
};

// Fair thread pool, measured: the cost of a task that does next to nothing
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/04_async chapters/04_async/fair_thread_pool/fair_thread_pool_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o fair_thread_pool_bench
// Run:     fair_thread_pool_bench [--tasks N] [--rounds N]

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fair_thread_pool.hpp"
#include "pool_bench.hpp"

namespace {

/// A pool with one queue, for which each task is locked twice: when it is handed in, and when it is taken.
class PlainPool {
 public:
  explicit PlainPool(int workers) {
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
  }

  ~PlainPool() {
    {
      std::scoped_lock lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

  void post(std::function<void()> task) {
    {
      std::scoped_lock lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return closed_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool closed_ = false;
  std::vector<std::jthread> workers_;
};

void by_plain_pool(int workers, int tasks, Count& count) {
  PlainPool pool(workers);
  for (int i = 0; i < tasks; ++i) pool.post([&] { count.one(); });
}  // the destructor waits for them

void by_fair_pool(int workers, int tasks, Count& count) {
  FairThreadPool pool(workers);
  for (int i = 0; i < tasks; ++i) pool.post([&] { count.one(); });
}

void by_sleepy_pool(int workers, int tasks, Count& count) {
  FairThreadPool pool(workers, std::chrono::microseconds(0));  // an idle worker sleeps at once
  for (int i = 0; i < tasks; ++i) pool.post([&] { count.one(); });
}

}  // namespace

int main(int argc, char** argv) {
  return compare_pools(argc, argv,
                       {{"one queue, one lock per task", by_plain_pool},
                        {"tbb::task_arena::enqueue", by_task_arena},
                        {"tbb::task_group", by_task_group},
                        {"FairThreadPool", by_fair_pool},
                        {"FairThreadPool, idle workers sleep at once", by_sleepy_pool}});
}

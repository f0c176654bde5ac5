// Fair thread pool, measured: the cost of a task that does next to nothing
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/04_async chapters/04_async/fair_thread_pool/fair_thread_pool_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o fair_thread_pool_bench
// Run:     fair_thread_pool_bench [--tasks N] [--rounds N]

#include <tbb/global_control.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
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
  int tasks = 100'000, rounds = 11;
  cookbook::Options options("What it costs a pool to run a task that does next to nothing");
  options.add("tasks", tasks, "tasks that a run hands in", 100, 10'000'000);
  options.add("rounds", rounds, "measured runs of each pool", 1, 1'000);
  options.parse(argc, argv);

  long wrong = 0;
  const int workers = cookbook::allowed_processors();
  // As many workers as the other pools have, beside the thread that hands in the tasks.
  const tbb::global_control threads_of_tbb(tbb::global_control::max_allowed_parallelism, workers + 1);
  const auto row = [&](const std::string& name, int count, void (*run)(int, int, Count&)) {
    return pool_row(name, workers, count, run, wrong);
  };
  cookbook::Figures figures("one small task", cookbook::cost("ns", 1e-9));
  figures.speedup_over("tbb::task_group", "task_group");
  figures.measure(
      {row("one queue, one lock per task", tasks, by_plain_pool), row("tbb::task_arena::enqueue", tasks, by_task_arena),
       row("tbb::task_group", tasks, by_task_group), row("FairThreadPool", tasks, by_fair_pool),
       row("FairThreadPool, idle workers sleep at once", tasks, by_sleepy_pool)},
      rounds);

  cookbook::Checks checks;
  checks.equal("runs in which a task was lost or ran twice", wrong, 0L);
  figures.print(checks);
  return checks.exit_code();
}

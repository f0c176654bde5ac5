// Fair thread pool, measured: the cost of a task that does next to nothing
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/04_async/fair_thread_pool/fair_thread_pool_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o fair_thread_pool_bench
// Run:     fair_thread_pool_bench [--tasks N] [--rounds N]

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/pin.hpp"
#include "fair_thread_pool.hpp"

namespace {

/// Counts the tasks that have run. Each thread has a counter on a cache line of its own.
class Count {
 public:
  void one() {
    static std::atomic<std::size_t> threads = 0;
    thread_local const std::size_t mine = threads++ % 64;
    counters_[mine].value.fetch_add(1, std::memory_order_relaxed);
  }

  long total() const {
    long sum = 0;
    for (const Counter& counter : counters_) sum += counter.value;
    return sum;
  }

 private:
  struct alignas(64) Counter {
    std::atomic<long> value = 0;
  };
  std::array<Counter, 64> counters_ = {};
};

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

/// oneTBB's way to hand in tasks from a thread that goes on with something else.
void by_task_arena(int workers, int tasks, Count& count) {
  tbb::task_arena arena(workers, 0);
  tbb::task_group group;
  for (int i = 0; i < tasks; ++i) arena.enqueue(group.defer([&] { count.one(); }));
  arena.execute([&] { group.wait(); });
}

/// oneTBB's way for a thread that takes part in the work: here it is one of the workers.
void by_task_group(int workers, int tasks, Count& count) {
  tbb::task_arena arena(workers);
  arena.execute([&] {
    tbb::task_group group;
    for (int i = 0; i < tasks; ++i) group.run([&] { count.one(); });
    group.wait();
  });
}

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
    return cookbook::Row(name, count, [&wrong, workers, count, run] {
      // The threads of the row before may still look for work; without this pause they would take time from this one.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      Count done;
      const cookbook::Stopwatch watch;
      run(workers, count, done);
      const double seconds = watch.seconds();
      if (done.total() != count) ++wrong;
      return seconds;
    });
  };
  cookbook::Figures figures("one small task", cookbook::cost("ns", 1e-9));
  figures.times("tbb::task_group", "task_group");
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

/// What the benches of the thread pools share: the task, oneTBB's two ways to run it, and main().
#pragma once

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"

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

/// oneTBB's way to hand in tasks from a thread that goes on with something else.
inline void by_task_arena(int workers, int tasks, Count& count) {
  tbb::task_arena arena(workers, 0);
  tbb::task_group group;
  for (int i = 0; i < tasks; ++i) arena.enqueue(group.defer([&] { count.one(); }));
  arena.execute([&] { group.wait(); });
}

/// oneTBB's way for a thread that takes part in the work: here it is one of the workers.
inline void by_task_group(int workers, int tasks, Count& count) {
  tbb::task_arena arena(workers);
  arena.execute([&] {
    tbb::task_group group;
    for (int i = 0; i < tasks; ++i) group.run([&] { count.one(); });
    group.wait();
  });
}

/// A row of the table: a way to run tasks. run(workers, tasks, count) returns when all of them have run.
struct PoolWay {
  std::string name;
  void (*run)(int workers, int tasks, Count& count);
  int share = 1;  ///< one task in so many is run, since this way is slow
};

/// What main() of such a bench does: reads the options, measures the ways and prints their table, beside task_group.
/// Fails if not exactly the tasks that were handed in have run.
inline int compare_pools(int argc, char** argv, const std::vector<PoolWay>& ways, int fewest_tasks = 100) {
  int tasks = 100'000, rounds = 11;
  cookbook::Options options("What it costs a pool to run a task that does next to nothing");
  options.add("tasks", tasks, "tasks that a run hands in", fewest_tasks, 10'000'000);
  options.add("rounds", rounds, "measured runs of each pool", 1, 1'000);
  options.parse(argc, argv);

  long wrong = 0;
  const int workers = cookbook::allowed_processors();
  // As many workers as the other pools have, beside the thread that hands in the tasks.
  const tbb::global_control threads_of_tbb(tbb::global_control::max_allowed_parallelism, workers + 1);
  std::vector<cookbook::Benchmark> rows;
  for (const PoolWay& way : ways) {
    const int count = tasks / way.share;
    rows.emplace_back(way.name, count, [&wrong, workers, count, run = way.run] {
      // The threads of the row before may still look for work; without this pause they would take time from this one.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      Count done;
      const cookbook::Stopwatch watch;
      run(workers, count, done);
      const double seconds = watch.seconds();
      if (done.total() != count) ++wrong;
      return seconds;
    });
  }
  cookbook::Figures figures("one small task", cookbook::cost("ns", 1e-9));
  figures.speedup_over("tbb::task_group", "task_group");
  figures.measure(rows, rounds);

  cookbook::Checks checks;
  checks.equal("runs in which a task was lost or ran twice", wrong, 0L);
  figures.print(checks);
  return checks.exit_code();
}

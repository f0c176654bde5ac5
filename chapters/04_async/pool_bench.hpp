/// What the benches of the thread pools share: the task, oneTBB's two ways to run it, and a row of the table.
#pragma once

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

#include "cookbook/measure.hpp"

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

/// A row whose run(workers, tasks, count) is timed, in seconds; adds 1 to `wrong` whenever not exactly `tasks` tasks
/// have run.
inline cookbook::Benchmark pool_row(const std::string& name, int workers, int tasks, void (*run)(int, int, Count&),
                                    long& wrong) {
  return cookbook::Benchmark(name, tasks, [&wrong, workers, tasks, run] {
    // The threads of the row before may still look for work; without this pause they would take time from this one.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Count done;
    const cookbook::Stopwatch watch;
    run(workers, tasks, done);
    const double seconds = watch.seconds();
    if (done.total() != tasks) ++wrong;
    return seconds;
  });
}

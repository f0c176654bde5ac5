/// What a task costs that does nothing, in five executors: the price of handing it over, and of waiting for the last.
#pragma once

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <functional>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "small_pool.hpp"

namespace empty_tasks {

/// Each task adds one for its thread, so that none can be lost unnoticed. The counters lie a cache line apart.
class Count {
 public:
  void one() {
    static std::atomic<std::size_t> threads = 0;
    thread_local const std::size_t mine = threads++ % counters_.size();
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
  std::vector<Counter> counters_ = std::vector<Counter>(64);
};

inline void by_async(int tasks, Count& count) {
  for (int i = 0; i < tasks; ++i) {
    // A thread for each task, made here and ended there; the future's destructor waits for it.
    const std::future<void> done = std::async(std::launch::async, [&] { count.one(); });
  }
}

inline void by_asio(int workers, int tasks, Count& count) {
  boost::asio::thread_pool pool(static_cast<std::size_t>(workers));
  for (int i = 0; i < tasks; ++i) boost::asio::post(pool, [&] { count.one(); });
  pool.join();
}

inline void by_task_group(int workers, int tasks, Count& count) {
  oneapi::tbb::task_arena arena(workers);
  arena.execute([&] {
    oneapi::tbb::task_group group;
    for (int i = 0; i < tasks; ++i) group.run([&] { count.one(); });
    group.wait();
  });
}

inline void by_task_arena(int workers, int tasks, Count& count) {
  oneapi::tbb::task_arena arena(workers);
  oneapi::tbb::task_group group;
  for (int i = 0; i < tasks; ++i) arena.enqueue(group.defer([&] { count.one(); }));
  arena.execute([&] { group.wait(); });
}

inline void by_small_pool(int workers, int tasks, Count& count) {
  SmallPool pool(workers);
  for (int i = 0; i < tasks; ++i) pool.post([&] { count.one(); });
}  // the destructor waits for all of them

/// All with a worker for each core but std::async, which has no workers.
inline void measure(int tasks, cookbook::Checks& checks) {
  const int workers = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  long lost = 0;
  const auto executor = [&](const char* name, int count, auto run) {
    return cookbook::Row(name, count, [count, run, &lost] {
      Count done;
      const cookbook::Stopwatch watch;
      run(count, done);
      const double seconds = watch.seconds();
      lost += count - done.total();
      return seconds;
    });
  };
  cookbook::Figures figures("one empty task", cookbook::cost("ns", 1e-9));
  figures.times("tbb::task_group", "task_group");
  figures.measure({executor("std::async", std::max(1, tasks / 200), [](int n, Count& count) { by_async(n, count); }),
                   executor("asio::thread_pool", tasks, [=](int n, Count& count) { by_asio(workers, n, count); }),
                   executor("tbb::task_arena", tasks, [=](int n, Count& count) { by_task_arena(workers, n, count); }),
                   executor("tbb::task_group", tasks, [=](int n, Count& count) { by_task_group(workers, n, count); }),
                   executor("SmallPool", tasks, [=](int n, Count& count) { by_small_pool(workers, n, count); })},
                  5);
  checks.equal("empty tasks that were lost, or done twice", lost, 0L);
  figures.print(checks);
}

}  // namespace empty_tasks

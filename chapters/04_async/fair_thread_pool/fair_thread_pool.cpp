// Fair thread pool
//
// A pool gets many small tasks. In the simple form each task that is handed in wakes a worker, if one sleeps. That
// costs more than a small task. If a worker is woken only when no other is on its way to the tasks, the same tasks take
// fewer wake-ups and less time. The program counts the wake-ups of both forms and times them. Then long tasks occupy
// all workers but one until all short tasks are done. The pool is in fair_thread_pool.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/fair_thread_pool/fair_thread_pool.cpp common/cookbook/*.cpp -lfmt -pthread -o fair_thread_pool
// Run:     fair_thread_pool [--workers N] [--tasks N]

#include "fair_thread_pool.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <string>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"

namespace {

/// What a task does: it computes for so many microseconds.
void compute_for(int us) {
  const cookbook::Stopwatch watch;
  while (watch.seconds() < us * 1e-6) continue;
}

struct Result {
  double ns_per_task, wake_ups_per_task;
  long tasks_run;
};

void wait_until_all_sleep(const FairThreadPool& pool, int workers) {
  while (pool.sleeping() < workers) std::this_thread::yield();
}

/// Hands in the tasks from this thread, and waits until all have run. The median of three runs.
Result run(Wake wake, int workers, int tasks, int us) {
  std::array<Result, 3> results;
  FairThreadPool pool(workers, wake, 1);  // the tasks lie in one queue
  wait_until_all_sleep(pool, workers);
  for (Result& result : results) {
    const long wake_ups_before = pool.wake_ups();
    std::atomic<long> tasks_run = 0;
    std::latch all_done(tasks);
    const cookbook::Stopwatch watch;
    for (int task = 0; task < tasks; ++task) {
      pool.post([&, us] {
        if (us > 0) compute_for(us);
        ++tasks_run;
        all_done.count_down();
      });
    }
    all_done.wait();
    result = {watch.seconds() / tasks * 1e9, static_cast<double>(pool.wake_ups() - wake_ups_before) / tasks, tasks_run};
    wait_until_all_sleep(pool, workers);
  }
  std::sort(results.begin(), results.end(), [](auto& a, auto& b) { return a.ns_per_task < b.ns_per_task; });
  return results[1];
}

/// Long tasks occupy all workers but one; behind each of them is a short one. A long task ends when all short ones are
/// done, or when the time is up. Returns how many long tasks had ended when all short ones were done.
int long_tasks_done_when_all_short_ones_were(int workers, int tasks) {
  std::atomic<int> long_done = 0;
  std::latch all_short_done(tasks);
  std::promise<void> end;
  const std::shared_future<void> all_over = end.get_future();
  // Far longer than all short tasks need.
  const auto time_is_up =
      std::chrono::steady_clock::now() + std::chrono::seconds(3) + tasks * std::chrono::microseconds(20);
  FairThreadPool pool(workers);
  wait_until_all_sleep(pool, workers);
  for (int i = 0; i < tasks; ++i) {
    if (i < workers - 1) {
      pool.post([&, all_over] {
        all_over.wait_until(time_is_up);
        ++long_done;
      });
    }
    pool.post([&] { all_short_done.count_down(); });
  }
  all_short_done.wait();
  const int ended = long_done;
  end.set_value();
  return ended;
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 16, tasks = 10'000;
  cookbook::Options options("A pool that wakes few workers, and stays fair");
  options.add("workers", workers, "threads of the pool", 2, 64);
  options.add("tasks", tasks, "tasks to run", 1, 1'000'000);
  options.parse(argc, argv);

  cookbook::println("{:>7} tasks       one woken per task             few woken", tasks);
  cookbook::println("for {:>2} workers     woke one      time     woke one      time", workers);
  long run_all = 0;
  for (const int us : {0, 1, 10}) {
    const Result each = run(Wake::one_per_task, workers, tasks, us), few = run(Wake::few, workers, tasks, us);
    cookbook::println("tasks of {:>2} us {:>11.1f} %{:>7.0f} ns {:>10.1f} %{:>7.0f} ns", us,
                      100 * each.wake_ups_per_task, each.ns_per_task, 100 * few.wake_ups_per_task, few.ns_per_task);
    run_all += (each.tasks_run == tasks) + (few.tasks_run == tasks);
  }
  cookbook::Checks checks;
  checks.equal("runs in which all tasks ran", run_all, 6L);
  checks.equal("long tasks that a short one had to wait for", long_tasks_done_when_all_short_ones_were(workers, tasks),
               0);
  return checks.exit_code();
}

// Thread pool
//
// A pool starts its threads, the workers, once. Each takes a task from a queue, runs it, and takes the next one, so a
// few threads run any number of tasks. The program runs a thousand tasks in a plain loop, with a thread per task, and
// in a pool, with more and more steps of work in each task: so one sees how long a task has to be for threads to pay.
// Then an exception comes out of a future, and a pool shuts down while tasks are still in its queue. The class is in
// thread_pool.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/thread_pool/thread_pool.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_pool
// Run:     thread_pool [--workers N] [--tasks N]

#include "thread_pool.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"

namespace {

/// A task: a square, which is next to nothing to do, and so many steps of work, of some nanoseconds each.
long square(long n, int steps) {
  auto number = static_cast<unsigned long>(n);
  for (int step = 0; step < steps; ++step) number = (number ^ (number >> 29)) * 0xbf58476d1ce4e5b9 + 1;
  cookbook::do_not_optimize(number);
  return n * n;
}

long sum_of(std::vector<std::future<long>>& futures) {
  long sum = 0;
  for (auto& future : futures) sum += future.get();  // waits until the task has run
  return sum;
}

long plain_loop(int, int tasks, int steps) {
  long sum = 0;
  for (long n = 1; n <= tasks; ++n) sum += square(n, steps);
  return sum;
}

long thread_per_task(int, int tasks, int steps) {
  std::vector<std::future<long>> futures;
  for (long n = 1; n <= tasks; ++n) futures.push_back(std::async(std::launch::async, square, n, steps));
  return sum_of(futures);
}

long in_a_pool(int workers, int tasks, int steps) {
  ThreadPool pool(workers);
  std::vector<std::future<long>> futures;
  for (long n = 1; n <= tasks; ++n) futures.push_back(pool.submit([n, steps] { return square(n, steps); }));
  return sum_of(futures);
}

long without_futures(int workers, int tasks, int steps) {
  std::atomic<long> sum = 0;
  {
    ThreadPool pool(workers);
    for (long n = 1; n <= tasks; ++n) pool.post([&sum, n, steps] { sum += square(n, steps); });
  }  // the pool's destructor waits for the tasks that have not run yet
  return sum;
}

using Way = long (*)(int workers, int tasks, int steps);

constexpr std::array steps_of_columns = {0, 1'000, 10'000, 100'000};

/// Prints a row of the table: the time per task with each number of steps, in the best of three runs. Returns the
/// number of runs whose sum is wrong.
int row(const std::string& name, Way way, int workers, int tasks) {
  const long sum = tasks * (tasks + 1L) * (2L * tasks + 1) / 6;
  int wrong = 0;
  std::string cells;
  for (const int steps : steps_of_columns) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const cookbook::Stopwatch watch;
      wrong += way(workers, tasks, steps) != sum;
      best = std::min(best, watch.seconds() * 1e6 / tasks);
    }
    cells += fmt::format("{:>11.3f} us", best);
  }
  cookbook::println("{:<20}{}", name, cells);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 2, tasks = 1'000;
  cookbook::Options options("A pool of threads runs many tasks");
  options.add("workers", workers, "threads of the pool", 1, 64);
  options.add("tasks", tasks, "tasks to run", 1, 1'000);
  options.parse(argc, argv);

  cookbook::println("{:<20}{:>8} steps{:>8} steps{:>8} steps{:>8} steps", fmt::format("{} tasks of", tasks),
                    steps_of_columns[0], steps_of_columns[1], steps_of_columns[2], steps_of_columns[3]);
  int wrong = row("a plain loop", plain_loop, workers, tasks);
  wrong += row("a thread per task", thread_per_task, workers, tasks);
  wrong += row(fmt::format("a pool of {} threads", workers), in_a_pool, workers, tasks);
  wrong += row("  without futures", without_futures, workers, tasks);

  std::string error = "none";
  std::atomic<int> tasks_run = 0;
  {
    ThreadPool pool(workers);
    std::future<int> fails = pool.submit([]() -> int { throw std::runtime_error("no such number"); });
    try {
      fails.get();
    } catch (const std::runtime_error& thrown) {
      error = thrown.what();
    }
    for (int i = 0; i < 1'000; ++i) pool.post([&] { ++tasks_run; });
  }  // the pool's destructor waits for the tasks that have not run yet

  cookbook::Checks checks;
  checks.equal("wrong sums of the squares", wrong, 0);
  checks.equal("exception that came out of the future", error, "no such number");
  checks.equal("tasks run before the pool was gone", tasks_run.load(), 1'000);
  return checks.exit_code();
}

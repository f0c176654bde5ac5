// Thread pool
//
// A pool starts its threads, the workers, once. Each takes a task from a queue, runs it, and takes the next one, so a
// few threads run any number of tasks. The program runs a thousand tasks in a plain loop, with a thread per task, and
// in a pool: tasks that do next to nothing, which show what it costs to hand over a task, and longer ones, which show
// when that pays. A task hands its result or its exception over through a future. At the end the pool shuts down while
// tasks are still in its queue. The class is in thread_pool.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/thread_pool/thread_pool.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_pool
// Run:     thread_pool [--workers N] [--tasks N]

#include "thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"

namespace {

/// A square, and the thread that has computed it.
struct Square {
  long value;
  std::thread::id thread;
};
Square square(long n) { return {n * n, std::this_thread::get_id()}; }

/// The same, with some microseconds of work.
Square long_square(long n) {
  auto number = static_cast<unsigned long>(n);
  for (int step = 0; step < 10'000; ++step) number = (number ^ (number >> 29)) * 0xbf58476d1ce4e5b9 + 1;
  cookbook::do_not_optimize(number);
  return {n * n, std::this_thread::get_id()};
}

using Task = Square (*)(long);

std::vector<Square> results_of(std::vector<std::future<Square>>& futures) {
  std::vector<Square> squares;
  for (auto& future : futures) squares.push_back(future.get());  // waits until the task has run
  return squares;
}

std::vector<Square> plain_loop(Task task, int, int tasks) {
  std::vector<Square> squares;
  for (long n = 1; n <= tasks; ++n) squares.push_back(task(n));
  return squares;
}

std::vector<Square> thread_per_task(Task task, int, int tasks) {
  std::vector<std::future<Square>> futures;
  for (long n = 1; n <= tasks; ++n) futures.push_back(std::async(std::launch::async, task, n));
  return results_of(futures);
}

std::vector<Square> in_a_pool(Task task, int workers, int tasks) {
  ThreadPool pool(workers);
  std::vector<std::future<Square>> futures;
  for (long n = 1; n <= tasks; ++n) futures.push_back(pool.submit([task, n] { return task(n); }));
  return results_of(futures);
}

struct Outcome {
  double us = 1e9;                    ///< per task, in the best of three runs
  long sum = 0;                       ///< of the squares, in the last one
  std::set<std::thread::id> threads;  ///< that have computed them
};

using Way = std::vector<Square> (*)(Task task, int workers, int tasks);

Outcome best_of_three(Way way, Task task, int workers, int tasks) {
  Outcome outcome;
  for (int i = 0; i < 3; ++i) {
    const cookbook::Stopwatch watch;
    const std::vector<Square> squares = way(task, workers, tasks);
    outcome = {.us = std::min(outcome.us, watch.seconds() * 1e6 / tasks), .sum = 0, .threads = {}};
    for (const Square& one : squares) {
      outcome.sum += one.value;
      outcome.threads.insert(one.thread);
    }
  }
  return outcome;
}

/// Prints a row: a way with both tasks. Returns the outcomes.
std::pair<Outcome, Outcome> row(const std::string& name, Way way, int workers, int tasks) {
  Outcome squares = best_of_three(way, square, workers, tasks),
          longer = best_of_three(way, long_square, workers, tasks);
  cookbook::println("{:<22}{:>9.3f} us {:>9.3f} us", name, squares.us, longer.us);
  return {std::move(squares), std::move(longer)};
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 3, tasks = 1'000;
  cookbook::Options options("A pool of threads runs many tasks");
  options.add("workers", workers, "threads of the pool", 1, 64);
  options.add("tasks", tasks, "tasks to run", 1, 1'000);
  options.parse(argc, argv);

  cookbook::println("{:<4} tasks, time each     a square    a long one", tasks);
  const auto by_loop = row("a plain loop", plain_loop, workers, tasks);
  const auto by_threads = row("a thread per task", thread_per_task, workers, tasks);
  const auto by_pool = row(fmt::format("a pool of {} threads", workers), in_a_pool, workers, tasks);

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
  const long sum = tasks * (tasks + 1L) * (2L * tasks + 1) / 6;
  checks.equal("sums of the squares", std::vector{by_loop.first.sum, by_threads.first.sum, by_pool.first.sum},
               {sum, sum, sum});
  checks.equal("of the long ones", std::vector{by_loop.second.sum, by_threads.second.sum, by_pool.second.sum},
               {sum, sum, sum});
  checks.equal("threads of the second form", std::ssize(by_threads.first.threads), tasks);
  checks.that("the pool used no more threads than it has", std::ssize(by_pool.first.threads) <= workers);
  checks.equal("exception that came out of the future", error, "no such number");
  checks.equal("tasks run before the pool was gone", tasks_run.load(), 1'000);
  return checks.exit_code();
}

// Thread pool
//
// A pool starts its threads, the workers, once. Each takes a task from a queue, runs it, and takes the next one, so a
// few threads run any number of tasks. The program computes a thousand squares: in a plain loop, with a thread per
// square, and in a pool. What the last two take longer than the loop is the price of handing a task to another thread.
// A task hands its result or its exception over through a future. At the end the pool shuts down while tasks are still
// in its queue. The class is in thread_pool.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/thread_pool/thread_pool.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_pool
// Run:     thread_pool [--workers N] [--tasks N]

#include "thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
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

std::vector<Square> results_of(std::vector<std::future<Square>>& futures) {
  std::vector<Square> squares;
  for (auto& future : futures) squares.push_back(future.get());  // waits until the task has run
  return squares;
}

std::vector<Square> plain_loop(int, int tasks) {
  std::vector<Square> squares;
  for (long n = 1; n <= tasks; ++n) squares.push_back(square(n));
  return squares;
}

std::vector<Square> thread_per_task(int, int tasks) {
  std::vector<std::future<Square>> futures;
  for (long n = 1; n <= tasks; ++n) futures.push_back(std::async(std::launch::async, square, n));
  return results_of(futures);
}

std::vector<Square> in_a_pool(int workers, int tasks) {
  ThreadPool pool(workers);
  std::vector<std::future<Square>> futures;
  for (long n = 1; n <= tasks; ++n) futures.push_back(pool.submit([n] { return square(n); }));
  return results_of(futures);
}

struct Outcome {
  long sum = 0;                       ///< of the squares
  std::set<std::thread::id> threads;  ///< that have computed them
};

/// Prints a row, with the best time of three; returns the outcome of the last run.
Outcome row(const std::string& name, std::vector<Square> (*run)(int workers, int tasks), int workers, int tasks) {
  double best = 1e9;
  Outcome outcome;
  for (int i = 0; i < 3; ++i) {
    const cookbook::Stopwatch watch;
    const std::vector<Square> squares = run(workers, tasks);
    best = std::min(best, watch.seconds());
    outcome = {};
    for (const Square& one : squares) {
      outcome.sum += one.value;
      outcome.threads.insert(one.thread);
    }
  }
  cookbook::println("{:<20}{:>11.3f} ms {:>11.3f} us", name, best * 1e3, best * 1e6 / tasks);
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 3, tasks = 1'000;
  cookbook::Options options("A pool of threads runs many tasks");
  options.add("workers", workers, "threads of the pool", 1, 64);
  options.add("tasks", tasks, "tasks to run", 1, 1'000);
  options.parse(argc, argv);

  cookbook::println("{:<4} squares          all results     per square", tasks);
  const Outcome by_loop = row("a plain loop", plain_loop, workers, tasks);
  const Outcome by_threads = row("a thread per square", thread_per_task, workers, tasks);
  const Outcome by_pool = row(fmt::format("a pool of {} threads", workers), in_a_pool, workers, tasks);

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
  checks.equal("sums of the squares", std::vector{by_loop.sum, by_threads.sum, by_pool.sum}, {sum, sum, sum});
  checks.equal("threads of the second form", std::ssize(by_threads.threads), tasks);
  checks.that("the pool used no more threads than it has", std::ssize(by_pool.threads) <= workers);
  checks.equal("exception that came out of the future", error, "no such number");
  checks.equal("tasks run before the pool was gone", tasks_run.load(), 1'000);
  return checks.exit_code();
}

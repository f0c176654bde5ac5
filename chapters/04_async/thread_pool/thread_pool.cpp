// Thread pool
//
// A pool starts its threads, the workers, once. Each takes a task from a queue, runs it, and takes the next one, so a
// few threads run any number of tasks. The program runs a thousand tasks in a plain loop, with a thread per task, and
// in a pool, with more and more steps of work in each task: so one sees how long a task has to be for threads to pay. A
// task hands its result or its exception over through a future. At the end the pool shuts down while tasks are still in
// its queue. The class is in thread_pool.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/thread_pool/thread_pool.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_pool
// Run:     thread_pool [--workers N] [--tasks N]

#include "thread_pool.hpp"

#include <algorithm>
#include <array>
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

/// A task: a square, which is next to nothing to do, and so many steps of work, of some nanoseconds each.
Square square(long n, int steps) {
  auto number = static_cast<unsigned long>(n);
  for (int step = 0; step < steps; ++step) number = (number ^ (number >> 29)) * 0xbf58476d1ce4e5b9 + 1;
  cookbook::do_not_optimize(number);
  return {n * n, std::this_thread::get_id()};
}

std::vector<Square> results_of(std::vector<std::future<Square>>& futures) {
  std::vector<Square> squares;
  for (auto& future : futures) squares.push_back(future.get());  // waits until the task has run
  return squares;
}

std::vector<Square> plain_loop(int, int tasks, int steps) {
  std::vector<Square> squares;
  for (long n = 1; n <= tasks; ++n) squares.push_back(square(n, steps));
  return squares;
}

std::vector<Square> thread_per_task(int, int tasks, int steps) {
  std::vector<std::future<Square>> futures;
  for (long n = 1; n <= tasks; ++n) futures.push_back(std::async(std::launch::async, square, n, steps));
  return results_of(futures);
}

std::vector<Square> in_a_pool(int workers, int tasks, int steps) {
  ThreadPool pool(workers);
  std::vector<std::future<Square>> futures;
  for (long n = 1; n <= tasks; ++n) futures.push_back(pool.submit([n, steps] { return square(n, steps); }));
  return results_of(futures);
}

struct Outcome {
  double us = 1e9;                    ///< per task, in the best of three runs
  long sum = 0;                       ///< of the squares, in the last one
  std::set<std::thread::id> threads;  ///< that have computed them
};

using Way = std::vector<Square> (*)(int workers, int tasks, int steps);

Outcome best_of_three(Way way, int workers, int tasks, int steps) {
  Outcome outcome;
  for (int i = 0; i < 3; ++i) {
    const cookbook::Stopwatch watch;
    const std::vector<Square> squares = way(workers, tasks, steps);
    outcome = {.us = std::min(outcome.us, watch.seconds() * 1e6 / tasks), .sum = 0, .threads = {}};
    for (const Square& one : squares) {
      outcome.sum += one.value;
      outcome.threads.insert(one.thread);
    }
  }
  return outcome;
}

constexpr std::array steps_of_columns = {0, 1'000, 10'000, 100'000};

/// Prints a row of the table: a way with each number of steps. Returns the outcomes.
std::vector<Outcome> row(const std::string& name, Way way, int workers, int tasks) {
  std::vector<Outcome> outcomes;
  std::string cells;
  for (const int steps : steps_of_columns) {
    outcomes.push_back(best_of_three(way, workers, tasks, steps));
    cells += fmt::format("{:>11.3f} us", outcomes.back().us);
  }
  cookbook::println("{:<20}{}", name, cells);
  return outcomes;
}

}  // namespace

int main(int argc, char** argv) {
  int workers = 3, tasks = 1'000;
  cookbook::Options options("A pool of threads runs many tasks");
  options.add("workers", workers, "threads of the pool", 1, 64);
  options.add("tasks", tasks, "tasks to run", 1, 1'000);
  options.parse(argc, argv);

  cookbook::println("{:<20}{:>8} steps{:>8} steps{:>8} steps{:>8} steps", fmt::format("{} tasks of", tasks),
                    steps_of_columns[0], steps_of_columns[1], steps_of_columns[2], steps_of_columns[3]);
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
  int wrong = 0;
  std::size_t fewest = 1'000'000, most = 0;  // threads of a thread per task, and of the pool
  for (std::size_t i = 0; i < steps_of_columns.size(); ++i) {
    for (const Outcome& outcome : {by_loop[i], by_threads[i], by_pool[i]}) wrong += outcome.sum != sum;
    fewest = std::min(fewest, by_threads[i].threads.size());
    most = std::max(most, by_pool[i].threads.size());
  }
  checks.equal("wrong sums of the squares", wrong, 0);
  checks.equal("threads of 'a thread per task'", static_cast<int>(fewest), tasks);
  checks.that("the pool used no more threads than it has", static_cast<int>(most) <= workers);
  checks.equal("exception that came out of the future", error, "no such number");
  checks.equal("tasks run before the pool was gone", tasks_run.load(), 1'000);
  return checks.exit_code();
}

// Process pool that recovers from deaths
//
// What is lost when workers of a pool are killed? Four workers square the numbers from 0 to 99, three times: first none
// of them dies, then each of ten tasks kills one worker, and then task 5 kills each worker that begins it. The pool
// knows which task each worker has, so it gives the task of a dead one to another worker. It gives up a task after
// three deaths.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_pool_recovery/process_pool_recovery.cpp common/cookbook/*.cpp -lfmt -pthread -o process_pool_recovery
// Run:     process_pool_recovery [--processes N]

#include <atomic>
#include <chrono>
#include <csignal>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "recovering_pool.hpp"
#include "shared_memory.hpp"

namespace {

constexpr int tasks = 100;

struct Counts {
  std::atomic<int> begun[tasks] = {};  // how often each task was begun
};
Counts* counts = nullptr;  // in shared memory

long square(long x) {
  ++counts->begun[x];
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // stands for work
  return x * x;
}

/// Tasks 7, 17, 27 and so on kill their worker when they are nearly done, the first time.
long square_or_die(long x) {
  const long result = square(x);
  if (x % 10 == 7 && counts->begun[x] == 1) raise(SIGKILL);
  return result;
}

long square_but_die_at_5(long x) {
  const long result = square(x);
  if (x == 5) raise(SIGKILL);
  return result;
}

struct Row {
  std::vector<int> begun;  // how often each task was begun
  bool right;              // whether the caller has got all squares
  std::string error;       // or what it has got instead
};

/// Lets a new pool do all tasks by this function, and prints what comes of it.
Row print_row(const char* name, int processes, long (*function)(long)) {
  const Shared<Counts> shared;
  counts = &*shared;  // before there are workers
  std::vector<long> numbers(tasks), expected;
  std::iota(numbers.begin(), numbers.end(), 0);
  for (const long number : numbers) expected.push_back(number * number);

  Row row = {{}, false, "nothing"};
  const cookbook::Stopwatch watch;
  try {
    RecoveringPool pool(processes, function);
    row.right = pool.map(numbers) == expected;
    row.error = "";
  } catch (const std::runtime_error& error) {
    row.error = error.what();
  }
  const double ms = watch.seconds() * 1e3;
  row.begun.assign(counts->begun, counts->begun + tasks);
  const int all = std::accumulate(row.begun.begin(), row.begun.end(), 0);
  cookbook::println("{:<30}{:6}{:10.1f} ms   {}", name, all, ms, row.error.empty() ? "all squares" : row.error);
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  int processes = 4;
  cookbook::Options options("Lose no task when a worker of a pool dies");
  options.add("processes", processes, "workers", 1, 32);
  options.parse(argc, argv);

  cookbook::println("100 tasks of 1 ms              begun         time   the caller gets");
  const Row safe = print_row("no worker dies", processes, square);
  const Row ten = print_row("ten tasks kill a worker each", processes, square_or_die);
  const Row given_up = print_row("task 5 kills each worker", processes, square_but_die_at_5);

  cookbook::Checks checks;
  const auto sum = [](const Row& row) { return std::accumulate(row.begun.begin(), row.begun.end(), 0); };
  checks.that("the squares are right, with ten deaths and without", safe.right && ten.right);
  checks.equal("tasks begun", std::vector{sum(safe), sum(ten), sum(given_up)}, {tasks, tasks + 10, tasks - 1 + 3});
  checks.equal("how often task 5 was begun before it was given up", given_up.begun[5], RecoveringPool::max_deaths);
  return checks.exit_code();
}

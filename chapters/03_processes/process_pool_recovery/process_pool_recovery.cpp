// Process pool that recovers from deaths
//
// Four workers square the numbers from 0 to 99, and ten of the tasks kill the worker that is at them. The pool knows
// which task each worker has, so it gives that task to another worker and starts a new one: no result is missing, and
// none comes twice. A task that kills every worker is given up after three.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_pool_recovery/process_pool_recovery.cpp common/cookbook/*.cpp -lfmt -pthread -o process_pool_recovery
// Run:     process_pool_recovery [--processes N]

#include <atomic>
#include <csignal>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "recovering_pool.hpp"
#include "shared_memory.hpp"

namespace {

constexpr int tasks = 100;

struct Counts {
  std::atomic<int> begun[tasks] = {};  // how often each task was begun
};
Counts* counts = nullptr;  // in shared memory

/// Kills its worker when it is asked for 7, 17, 27 and so on for the first time.
long square_or_die(long x) {
  if (counts->begun[x]++ == 0 && x % 10 == 7) raise(SIGKILL);
  return x * x;
}

long square_but_die_at_5(long x) {
  ++counts->begun[x];
  if (x == 5) raise(SIGKILL);
  return x * x;
}

std::string error_of(RecoveringPool& pool, const std::vector<long>& arguments) {
  try {
    pool.map(arguments);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

int main(int argc, char** argv) {
  int processes = 4;
  cookbook::Options options("Lose no task when a worker of a pool dies");
  options.add("processes", processes, "workers", 1, 32);
  options.parse(argc, argv);

  const Shared<Counts> shared;
  counts = &*shared;
  std::vector<long> numbers(tasks), expected;
  std::iota(numbers.begin(), numbers.end(), 0);
  for (const long number : numbers) expected.push_back(number * number);

  cookbook::Checks checks;
  RecoveringPool pool(processes, square_or_die);
  checks.that("ten tasks kill their workers: the squares are right all the same", pool.map(numbers) == expected);
  checks.equal("tasks begun, those begun again included", std::accumulate(counts->begun, counts->begun + tasks, 0),
               tasks + 10);

  counts->begun[5] = 0;
  RecoveringPool other_pool(processes, square_but_die_at_5);
  checks.equal("a task that kills every worker", error_of(other_pool, numbers), "task 5: 3 workers died at it");
  checks.equal("how often it was begun", counts->begun[5].load(), 3);
  return checks.exit_code();
}

// Distributed map and reduce
//
// Rank 0 gives the next task to whichever of its workers, the other ranks, is free. The output shows two things. Three
// tasks, each shorter than the one before, give their results in the order of the tasks, or as they are ready. And many
// tasks, each of which makes a long list of counts, are added up: in a plain loop, at rank 0 after a map, and by the
// workers themselves, which send one list each. The last column says how many megabytes rank 0 receives.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/05_distributed/distributed_map_reduce/distributed_map_reduce.cpp common/cookbook/*.cpp -lfmt -o distributed_map_reduce
// Run:     mpirun -n 4 distributed_map_reduce [--tasks N] [--task-us N] [--length N]

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "task_farm.hpp"

namespace {

void sleep_ms(double ms) { std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms)); }

Numbers sum(const Numbers& a, const Numbers& b) {
  Numbers sums(a.size());
  std::transform(a.begin(), a.end(), b.begin(), sums.begin(), std::plus<>());
  return sums;
}

/// Counts what a task finds: a list of `length` counts, task + 1 in all, at places that depend on the task.
Numbers counts_of(long task, long length) {
  Numbers counts(length);
  for (long i = 0; i <= task; ++i) ++counts[(task * 7919 + i * i) % length];
  return counts;
}

/// The seconds of a call of `work` by all ranks.
template <typename Work>
double timed(const mpi::Environment& world, Work work) {
  world.sleeping_barrier();  // nobody is busy with the row before
  const cookbook::Stopwatch watch;
  work();
  return watch.seconds();
}

}  // namespace

int main(int argc, char** argv) {
  long tasks = 300, task_us = 1000, length = 100'000;
  cookbook::Options options("Distribute a map and a reduction over ranks");
  options.add("tasks", tasks, "tasks, each of which makes a list of counts", 0, 10'000);
  options.add("task-us", task_us, "microseconds that a task sleeps first", 0, 1'000'000);
  options.add("length", length, "length of a list", 1, 10'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const auto shorter_and_shorter = [](long task) {
    sleep_ms(std::vector{500.0, 300.0, 100.0}[task]);
    return Numbers{task};
  };
  Numbers in_order, as_completed;
  for (const Numbers& result : map(world, 3, shorter_and_shorter)) in_order.push_back(result[0]);
  map_as_completed(world, 3, shorter_and_shorter,
                   [&](long, const Numbers& result) { as_completed.push_back(result[0]); });

  const auto work = [&](long task) {
    sleep_ms(1e-3 * static_cast<double>(task_us));  // stands for longer work
    return counts_of(task, length);
  };
  Numbers by_loop(length), by_map(length), by_reduce;
  long map_bytes = 0, reduce_bytes = 0;
  const double loop = timed(world, [&] {
    for (long task = 0; task < tasks && world.rank() == 0; ++task) by_loop = sum(by_loop, work(task));
  });
  const double mapped = timed(world, [&] {
    for (const Numbers& counts : map(world, tasks, work, &map_bytes)) by_map = sum(by_map, counts);
  });
  const double reduced = timed(world, [&] { by_reduce = map_reduce(world, tasks, work, sum, &reduce_bytes); });

  cookbook::Checks checks;
  if (world.rank() == 0) {
    cookbook::println("{:40}order of the results", "tasks 0, 1, 2 of 500, 300, 100 ms");
    cookbook::println("{:40}{}", "map", fmt::join(in_order, ", "));
    cookbook::println("{:40}{}", "map_as_completed", fmt::join(as_completed, ", "));
    cookbook::println("{} tasks, {} workers{:>23}{:>24}", tasks, std::max(1, world.size() - 1), "time",
                      "received by rank 0");
    cookbook::println("{:32}{:8.0f} ms{:20.1f} MB", "plain loop at rank 0", 1e3 * loop, 0.0);
    cookbook::println("{:32}{:8.0f} ms{:20.1f} MB", "map, added up at rank 0", 1e3 * mapped,
                      1e-6 * static_cast<double>(map_bytes));
    cookbook::println("{:32}{:8.0f} ms{:20.1f} MB", "map_reduce", 1e3 * reduced,
                      1e-6 * static_cast<double>(reduce_bytes));
    checks.equal("results in the order of the tasks", in_order, {0, 1, 2});
    std::sort(as_completed.begin(), as_completed.end());  // on a busy machine any of them may be ready first
    checks.equal("results as they are ready, sorted", as_completed, {0, 1, 2});
    checks.that("all sums are those of the plain loop", by_map == by_loop && (by_reduce == by_loop || tasks == 0));
  }
  return world.exit_code(checks);
}

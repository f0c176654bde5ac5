// Distributed map and reduce
//
// Rank 0 gives the next task to whichever of its workers, the other ranks, is free. The output shows two things: after
// how long the results of three tasks are there, if the map returns all of them at its end, or hands each over as soon
// as it is ready. And many tasks, each of which makes a long list of counts, are added up: in a plain loop, at rank 0
// after a map, and by the workers themselves, which send one list each. The last column says how many megabytes rank 0
// receives.
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

/// What rank 0 has seen of the results of three tasks.
struct Seen {
  Numbers order;                             ///< in which they came
  std::vector<double> after_ms = {0, 0, 0};  ///< when that of each task was there
};

void print_row(const char* name, const Seen& seen) {
  const std::vector<double>& ms = seen.after_ms;
  cookbook::println("{:32}{:8.0f} ms{:8.0f} ms{:8.0f} ms", name, ms[0], ms[1], ms[2]);
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
  if (tasks * length > 1'000'000'000) return world.usage_error("--tasks times --length: at most 1000000000 counts");
  const auto shorter_and_shorter = [](long task) {
    sleep_ms(std::vector{500.0, 300.0, 100.0}[task]);
    return Numbers{task};
  };
  const auto seen_by = [&](auto do_tasks) {
    Seen seen;
    world.sleeping_barrier();
    const cookbook::Stopwatch watch;
    do_tasks([&](const Numbers& result) {
      seen.order.push_back(result[0]);
      seen.after_ms[result[0]] = 1e3 * watch.seconds();
    });
    return seen;
  };
  const Seen in_order = seen_by([&](auto note) {
    for (const Numbers& result : map(world, 3, shorter_and_shorter)) note(result);
  });
  Seen as_completed = seen_by([&](auto note) {
    map_as_completed(world, 3, shorter_and_shorter, [&](long, const Numbers& result) { note(result); });
  });

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
    cookbook::println("{:32}{:>11}{:>11}{:>11}", "tasks of 500, 300, 100 ms", "result 0", "result 1", "result 2");
    print_row("map", in_order);
    print_row("map_as_completed", as_completed);
    cookbook::println("{} tasks, {} workers{:>23}{:>24}", tasks, std::max(1, world.size() - 1), "time",
                      "received by rank 0");
    cookbook::println("{:32}{:8.0f} ms{:20.1f} MB", "plain loop at rank 0", 1e3 * loop, 0.0);
    cookbook::println("{:32}{:8.0f} ms{:20.1f} MB", "map, added up at rank 0", 1e3 * mapped,
                      1e-6 * static_cast<double>(map_bytes));
    cookbook::println("{:32}{:8.0f} ms{:20.1f} MB", "map_reduce", 1e3 * reduced,
                      1e-6 * static_cast<double>(reduce_bytes));
    checks.equal("results in the order of the tasks", in_order.order, {0, 1, 2});
    // On a busy machine any of them may be ready first.
    std::sort(as_completed.order.begin(), as_completed.order.end());
    checks.equal("results as they are ready, sorted", as_completed.order, {0, 1, 2});
    checks.that("all sums are those of the plain loop", by_map == by_loop && (by_reduce == by_loop || tasks == 0));
  }
  return world.exit_code(checks);
}

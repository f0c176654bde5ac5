// Distributed map and reduce
//
// Many tasks each make a list of counts, and all lists are added up: in a plain loop, at rank 0 after a map, at rank 0
// as they come, and by the workers themselves, which send one list each. Rank 0 gives the next task to whichever of its
// workers, the other ranks, is free. The output shows how long each way takes, with tasks that sleep first and with
// tasks that do not, and how many megabytes rank 0 receives.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/05_distributed/distributed_map_reduce/distributed_map_reduce.cpp common/cookbook/*.cpp -lfmt -o distributed_map_reduce
// Run:     mpirun -n 4 distributed_map_reduce [--tasks N] [--task-us N] [--length N]

#include <malloc.h>

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

/// One way to add up the lists: how long it takes, and how many bytes rank 0 receives.
struct Way {
  double seconds = 0;
  long bytes = 0;
};

struct Ways {
  Way loop, map, as_completed, map_reduce;
  bool same_sums = false;
};

/// Adds up the lists of all tasks in four ways. Called by all ranks.
Ways add_up(const mpi::Environment& world, long tasks, std::chrono::microseconds task_time, long length) {
  const auto work = [&](long task) {
    std::this_thread::sleep_for(task_time);  // stands for longer work
    return counts_of(task, length);
  };
  Ways ways;
  Numbers by_loop(length), by_map(length), as_they_come(length), by_reduce;
  ways.loop.seconds = timed(world, [&] {
    for (long task = 0; task < tasks && world.rank() == 0; ++task) by_loop = sum(by_loop, work(task));
  });
  ways.map.seconds = timed(world, [&] {
    for (const Numbers& counts : map(world, tasks, work, &ways.map.bytes)) by_map = sum(by_map, counts);
  });
  ways.as_completed.seconds = timed(world, [&] {
    const auto add = [&](long, const Numbers& counts) { as_they_come = sum(as_they_come, counts); };
    ways.as_completed.bytes = map_as_completed(world, tasks, work, add);
  });
  ways.map_reduce.seconds =
      timed(world, [&] { by_reduce = map_reduce(world, tasks, work, sum, &ways.map_reduce.bytes); });
  ways.same_sums = by_map == by_loop && as_they_come == by_loop && (by_reduce == by_loop || tasks == 0);
  return ways;
}

}  // namespace

int main(int argc, char** argv) {
  long tasks = 300, task_us = 1000, length = 100'000;
  cookbook::Options options("Distribute a map and a reduction over ranks");
  options.add("tasks", tasks, "tasks, each of which makes a list of counts", 0, 10'000);
  options.add("task-us", task_us, "microseconds that a task sleeps first, in the first column", 0, 1'000'000);
  options.add("length", length, "length of the lists", 1, 10'000'000);
  options.parse(argc, argv);

  // free() gives nothing back to the system: else a column would depend on the lists that the one before it has freed.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const mpi::Environment world;
  if (tasks * length > 1'000'000'000) return world.usage_error("--tasks times --length: at most 1000000000 counts");
  const Ways slow = add_up(world, tasks, std::chrono::microseconds(task_us), length);
  const Ways fast = add_up(world, tasks, std::chrono::microseconds(0), length);

  cookbook::Checks checks;
  if (world.rank() == 0) {
    const auto print_row = [](const char* name, const Way& slow_tasks, const Way& fast_tasks) {
      cookbook::println("{:26}{:14.0f} ms{:14.0f} ms{:12.3f} MB", name, 1e3 * slow_tasks.seconds,
                        1e3 * fast_tasks.seconds, 1e-6 * static_cast<double>(slow_tasks.bytes));
    };
    cookbook::println("{:26}{:>17}{:>17}{:>15}",
                      fmt::format("{} tasks, {} workers", tasks, std::max(1, world.size() - 1)),
                      fmt::format("sleep of {} us", task_us), "no sleep", "to rank 0");
    print_row("plain loop at rank 0", slow.loop, fast.loop);
    print_row("map", slow.map, fast.map);
    print_row("map_as_completed", slow.as_completed, fast.as_completed);
    print_row("map_reduce", slow.map_reduce, fast.map_reduce);
    checks.that("all sums are those of the plain loop", slow.same_sums && fast.same_sums);
  }
  return world.exit_code(checks);
}

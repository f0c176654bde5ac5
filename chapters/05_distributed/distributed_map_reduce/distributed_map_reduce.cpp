// Distributed map and reduce
//
// Task n adds up a list of n copies of n, which gives n squared, and each task takes a moment. Rank 0 gives the
// next task to whichever of its workers, the other ranks, is free. First the program shows in which order results come
// if every task takes less time than the one before it. Then the results of 1000 tasks are added up: by a plain loop,
// and by map_reduce on all workers.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/05_distributed/distributed_map_reduce/distributed_map_reduce.cpp common/cookbook/*.cpp -lfmt -o distributed_map_reduce
// Run:     mpirun -n 4 distributed_map_reduce [--tasks N] [--task-us N]

#include <algorithm>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "task_farm.hpp"

int main(int argc, char** argv) {
  long tasks = 1000, task_us = 200;
  cookbook::Options options("Distribute a map and a reduction over ranks");
  options.add("tasks", tasks, "tasks, each of which adds up a list", 0, 10'000);
  options.add("task-us", task_us, "microseconds that a task takes at least", 0, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const auto sum_of_list = [&](long n) {
    std::this_thread::sleep_for(std::chrono::microseconds(task_us));  // stands for longer work
    const std::vector<long> list(n, n);
    return std::accumulate(list.begin(), list.end(), 0L);
  };
  const auto shorter_and_shorter = [](long n) {
    constexpr int ms[] = {350, 200, 100};
    std::this_thread::sleep_for(std::chrono::milliseconds(ms[n]));
    return n * n;
  };

  const std::vector<long> in_order = map(world, 3, shorter_and_shorter);
  std::vector<long> as_completed;
  map_as_completed(world, 3, shorter_and_shorter, [&](long, long result) { as_completed.push_back(result); });

  const cookbook::Stopwatch distributed_watch;
  const auto distributed = map_reduce(world, tasks, sum_of_list, std::plus<long>());
  const double distributed_seconds = distributed_watch.seconds();

  long serial = 0;
  const cookbook::Stopwatch serial_watch;
  if (world.rank() == 0) {
    for (long n = 0; n < tasks; ++n) serial += sum_of_list(n);
  }
  const double serial_seconds = serial_watch.seconds();
  world.sleeping_barrier();  // the other ranks sleep here, so that they take no processor time from the loop

  cookbook::Checks checks;
  if (world.rank() == 0) {
    cookbook::println("plain loop: {:.3f} s", serial_seconds);
    cookbook::println("map_reduce: {:.3f} s", distributed_seconds);
    // One worker does one task after the other, two begin with the tasks 0 and 1, three with all of them.
    const std::vector<long> by_end[] = {{0, 1, 4}, {1, 4, 0}, {4, 1, 0}};
    checks.equal("results in the order of the tasks", in_order, {0, 1, 4});
    checks.equal("results as they are ready", as_completed, by_end[std::clamp(world.size() - 2, 0, 2)]);
    checks.equal("sum by the plain loop", serial, (tasks - 1) * tasks * (2 * tasks - 1) / 6);
    checks.equal("sum by map_reduce", distributed.value_or(0), serial);
  }
  return world.exit_code(checks);
}

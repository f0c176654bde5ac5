// Distributed map and reduce
//
// Many tasks each make a list of counts, and all lists are added up: in a plain loop, at rank 0 after a map, at rank 0
// as they come, and by the workers themselves, which send one list each. Rank 0 gives the next task to whichever of its
// workers, the other ranks, is free. In the last row there is no such manager. The output shows how long each way
// takes, with tasks that wait first and with tasks that do not, how much of the latter rank 0 spends in additions, and
// how many megabytes of results it receives.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/05_distributed/distributed_map_reduce/distributed_map_reduce.cpp common/cookbook/*.cpp -lfmt -o distributed_map_reduce
// Run:     mpirun -n 4 distributed_map_reduce [--tasks N] [--task-us N] [--length N]

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "task_farm.hpp"

namespace {

/// Counts what a task finds: a list of `length` counts, task + 1 in all, at places that depend on the task.
Numbers counts_of(long task, long length) {
  Numbers counts(length);
  for (long i = 0; i <= task; ++i) ++counts[(task * 7919 + i * i) % length];
  return counts;
}

/// The lists to be made and added up: one per task.
struct Job {
  long tasks = 300, length = 100'000;
  std::chrono::microseconds wait{};

  Numbers operator()(long task) const {
    std::this_thread::sleep_for(wait);  // as for a file or a database
    return counts_of(task, length);
  }
};

double seconds_in_add = 0;  // of this rank, since it was set to 0

void add(Numbers& sum, const Numbers& list) {
  const cookbook::Stopwatch watch;
  std::transform(sum.begin(), sum.end(), list.begin(), sum.begin(), std::plus<>());
  seconds_in_add += watch.seconds();
}

// Each way is called by all ranks, and returns the sum of all lists at rank 0. `bytes`: of the lists that rank 0 gets.

Numbers by_loop(const mpi::Environment& world, const Job& job, long* bytes) {
  *bytes = 0;
  Numbers sum(job.length);
  for (long task = 0; task < job.tasks && world.rank() == 0; ++task) add(sum, job(task));
  return sum;
}

Numbers by_map(const mpi::Environment& world, const Job& job, long* bytes) {
  Numbers sum(job.length);
  for (const Numbers& list : map(world, job.tasks, job, bytes)) add(sum, list);
  return sum;
}

Numbers as_they_come(const mpi::Environment& world, const Job& job, long* bytes) {
  Numbers sum(job.length);
  *bytes = map_as_completed(world, job.tasks, job, [&](int, const Numbers& list) { add(sum, list); });
  return sum;
}

Numbers by_map_reduce(const mpi::Environment& world, const Job& job, long* bytes) {
  const Numbers sum = map_reduce(world, job.tasks, job, add, bytes);
  return sum.empty() ? Numbers(job.length) : sum;  // there were no tasks
}

/// Rank 0 does tasks like the others, and each rank knows its tasks beforehand.
Numbers without_manager(const mpi::Environment& world, const Job& job, long*) {
  Numbers mine(job.length), sum(job.length);
  for (long task = world.rank(); task < job.tasks; task += world.size()) add(mine, job(task));
  MPI_CHECK(MPI_Reduce(mine.data(), sum.data(), static_cast<int>(job.length), MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
  return sum;
}

struct Row {
  std::string name;
  Numbers (*way)(const mpi::Environment& world, const Job& job, long* bytes);
};

}  // namespace

int main(int argc, char** argv) {
  Job job;
  long task_us = 1000;
  cookbook::Options options("Distribute a map and a reduction over ranks");
  options.add("tasks", job.tasks, "tasks, each of which makes a list of counts", 0, 10'000);
  options.add("task-us", task_us, "microseconds that a task waits first, in the first column", 0, 1'000'000);
  options.add("length", job.length, "length of the lists", 1, 10'000'000);
  options.parse(argc, argv);

  // What has been freed stays with the program: else each call of map() would get 240 MB anew from the system.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const mpi::Environment world;
  if (job.tasks * job.length > 1'000'000'000) {
    return world.usage_error("--tasks times --length: at most 1000000000 counts");
  }
  if (world.rank() == 0) {
    cookbook::println("{:26}{:>17}{:>12}{:>14}{:>18}", fmt::format("{} tasks, {} ranks", job.tasks, world.size()),
                      fmt::format("wait of {} us", task_us), "no wait", "rank 0 adds", "lists to rank 0");
  }
  Numbers expected;
  bool same_sums = true;
  for (const auto& [name, way] : {Row{"plain loop at rank 0", by_loop},
                                  {"map", by_map},
                                  {"map_as_completed", as_they_come},
                                  {"map_reduce", by_map_reduce},
                                  {"no manager, MPI_Reduce", without_manager}}) {
    double ms[2] = {};
    long bytes = -1;
    way(world, job, &bytes);  // not timed: it gets the memory from the system
    for (const bool waits : {true, false}) {
      job.wait = std::chrono::microseconds(waits ? task_us : 0);
      world.sleeping_barrier();  // nobody is busy with the row before
      seconds_in_add = 0;
      const cookbook::Stopwatch watch;
      const Numbers sum = way(world, job, &bytes);
      ms[waits ? 0 : 1] = 1e3 * watch.seconds();
      if (expected.empty()) expected = sum;
      same_sums = same_sums && sum == expected;
    }
    if (world.rank() == 0) {
      cookbook::println("{:26}{:14.0f} ms{:9.0f} ms{:11.0f} ms{:>18}", name, ms[0], ms[1], 1e3 * seconds_in_add,
                        bytes < 0 ? "-" : fmt::format("{:.3f} MB", 1e-6 * static_cast<double>(bytes)));
    }
  }
  cookbook::Checks checks;
  if (world.rank() == 0) checks.that("all sums are those of the plain loop", same_sums);
  return world.exit_code(checks);
}

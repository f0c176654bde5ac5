/// Three kinds of map over the ranks of MPI. Rank 0 hands the tasks out and gets the results; the other ranks, its
/// workers, do the tasks.
#pragma once

#include <optional>
#include <vector>

#include "cookbook/mpi.hpp"

/// Does the tasks 0 to `tasks` - 1. On the workers each task is a call of work(task), which returns a long; on rank 0
/// consume(task, result) is called as soon as a result is there, in whatever order they come. One rank alone does both.
/// Called by all ranks.
template <typename Work, typename Consume>
void map_as_completed(const mpi::Environment& world, long tasks, Work work, Consume consume) {
  struct Report {  // its two longs travel as one message
    long task, result;
  };
  constexpr long none = -1;  // instead of a task: in a worker's first report, and in the last answer to it
  if (world.size() == 1) {
    for (long task = 0; task < tasks; ++task) consume(task, work(task));
  } else if (world.rank() == 0) {
    long next = 0;
    for (int working = world.size() - 1; working > 0;) {
      Report report;
      MPI_Status status;
      MPI_CHECK(MPI_Recv(&report, 2, MPI_LONG, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status));
      const long answer = next < tasks ? next++ : none;  // whoever reports is free, and gets the next task
      MPI_CHECK(MPI_Send(&answer, 1, MPI_LONG, status.MPI_SOURCE, 0, MPI_COMM_WORLD));  // the worker waits for it
      if (answer == none) --working;
      if (report.task != none) consume(report.task, report.result);  // while the worker does its next task
    }
  } else {
    Report report = {none, 0};
    for (;;) {
      MPI_CHECK(MPI_Send(&report, 2, MPI_LONG, 0, 0, MPI_COMM_WORLD));
      MPI_CHECK(MPI_Recv(&report.task, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      if (report.task == none) break;
      report.result = work(report.task);
    }
  }
  // Else a worker could begin the next map while rank 0 still waits for reports of this one.
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
}

/// The results in the order of the tasks, on rank 0; empty on the others.
template <typename Work>
std::vector<long> map(const mpi::Environment& world, long tasks, Work work) {
  std::vector<long> results(world.rank() == 0 ? tasks : 0);
  map_as_completed(world, tasks, work, [&](long task, long result) { results[task] = result; });
  return results;
}

/// All results combined by `combine`, on rank 0; nothing if there are no tasks, and on the other ranks. Each worker
/// combines its own results, so the order in which this happens is not known: (a + b) + c and b + (c + a) must be equal
/// (`combine` has to be associative and commutative).
template <typename Work, typename Combine>
std::optional<long> map_reduce(const mpi::Environment& world, long tasks, Work work, Combine combine) {
  std::optional<long> mine;
  const auto add = [&](long result) { mine = mine ? combine(*mine, result) : result; };
  const auto work_and_add = [&](long task) {
    add(work(task));
    return 0L;  // the result stays here
  };
  map_as_completed(world, tasks, work_and_add, [](long, long) {});

  const long share[] = {mine.has_value(), mine.value_or(0)};
  std::vector<long> shares(world.rank() == 0 ? 2 * world.size() : 0);
  MPI_CHECK(MPI_Gather(share, 2, MPI_LONG, shares.data(), 2, MPI_LONG, 0, MPI_COMM_WORLD));
  mine.reset();
  for (std::size_t i = 0; i < shares.size(); i += 2) {
    if (shares[i]) add(shares[i + 1]);
  }
  return mine;
}

/// Three kinds of map over the ranks of MPI. Rank 0 hands the tasks out and gets the results; the other ranks, its
/// workers, do the tasks. A result is a list of numbers.
#pragma once

#include <vector>

#include "cookbook/mpi.hpp"

using Numbers = std::vector<long>;

/// The next message of `source`, of any length; `sender` gets the rank that has sent it.
inline Numbers receive(int source, int* sender = nullptr) {
  MPI_Status status;
  int length = 0;
  MPI_CHECK(MPI_Probe(source, 0, MPI_COMM_WORLD, &status));
  MPI_CHECK(MPI_Get_count(&status, MPI_LONG, &length));
  Numbers message(length);
  MPI_CHECK(MPI_Recv(message.data(), length, MPI_LONG, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (sender != nullptr) *sender = status.MPI_SOURCE;
  return message;
}

inline void send(const Numbers& message, int to) {
  MPI_CHECK(MPI_Send(message.data(), static_cast<int>(message.size()), MPI_LONG, to, 0, MPI_COMM_WORLD));
}

/// Does the tasks 0 to `tasks` - 1. On the workers each task is a call of work(task), which returns Numbers; on rank 0
/// consume(task, result) is called as soon as a result is there, in whatever order they come. One rank alone does both.
/// Called by all ranks. Returns the bytes that rank 0 has received, and 0 on the workers.
template <typename Work, typename Consume>
long map_as_completed(const mpi::Environment& world, long tasks, Work work, Consume consume) {
  constexpr long none = -1;  // instead of a task: in a worker's first report, and in the last answer to it
  long bytes = 0;
  if (world.size() == 1) {
    for (long task = 0; task < tasks; ++task) consume(task, work(task));
  } else if (world.rank() == 0) {
    long next = 0;
    for (int working = world.size() - 1; working > 0;) {
      int worker = 0;
      Numbers report = receive(MPI_ANY_SOURCE, &worker);  // a result, and at its end the number of its task
      bytes += static_cast<long>(report.size() * sizeof(long));
      const long answer = next < tasks ? next++ : none;  // the worker that reports is free, and gets the next task
      send({answer}, worker);
      if (answer == none) --working;
      const long done = report.back();
      report.pop_back();
      if (done != none) consume(done, report);  // while the worker does its next task
    }
  } else {
    send({none}, 0);
    for (long task; (task = receive(0)[0]) != none;) {
      Numbers report = work(task);
      report.push_back(task);
      send(report, 0);
    }
  }
  // Else a worker could begin the next map while rank 0 still waits for reports of this one. Workers without a task
  // wait asleep: in MPI_Barrier they would keep the cores busy which the others need.
  world.sleeping_barrier();
  return bytes;
}

/// The results in the order of the tasks, on rank 0; empty on the others. `bytes`: see map_as_completed().
template <typename Work>
std::vector<Numbers> map(const mpi::Environment& world, long tasks, Work work, long* bytes = nullptr) {
  std::vector<Numbers> results(world.rank() == 0 ? tasks : 0);
  const long received =
      map_as_completed(world, tasks, work, [&](long task, const Numbers& result) { results[task] = result; });
  if (bytes != nullptr) *bytes = received;
  return results;
}

/// All results, none of which may be empty, combined by `combine`, on rank 0; empty if there are no tasks, and on the
/// other ranks. Each worker combines its own results, so the order in which this happens is not known: (a + b) + c and
/// b + (c + a) must be equal (`combine` has to be associative and commutative). `bytes`: see map_as_completed().
template <typename Work, typename Combine>
Numbers map_reduce(const mpi::Environment& world, long tasks, Work work, Combine combine, long* bytes = nullptr) {
  Numbers mine;
  const auto add = [&](const Numbers& result) { mine = mine.empty() ? result : combine(mine, result); };
  const auto work_and_add = [&](long task) {
    add(work(task));
    return Numbers();  // the result stays here
  };
  long received = map_as_completed(world, tasks, work_and_add, [](long, const Numbers&) {});

  if (world.rank() != 0) {
    send(mine, 0);
    return {};
  }
  for (int worker = 1; worker < world.size(); ++worker) {
    const Numbers share = receive(worker);  // one message per worker, and not one per task
    received += static_cast<long>(share.size() * sizeof(long));
    if (!share.empty()) add(share);
  }
  if (bytes != nullptr) *bytes = received;
  return mine;
}

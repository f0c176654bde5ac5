/// Three kinds of map over the ranks of MPI. Rank 0 hands the tasks out and gets the results; the other ranks, its
/// workers, do the tasks. A result is a list of numbers. A message's tag is the number of a task.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "cookbook/mpi.hpp"

using Numbers = std::vector<long>;

/// The tag of a message that is about no task: the highest that MPI allows in every case. Tasks have lower numbers.
constexpr int no_task = 32'767;

struct Message {
  Numbers numbers;
  int sender = 0, tag = 0;
};

/// The next message of `source`, of any length.
inline Message receive(int source) {
  MPI_Status status;
  int length = 0;
  MPI_CHECK(MPI_Probe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
  MPI_CHECK(MPI_Get_count(&status, MPI_LONG, &length));
  Message message{Numbers(length), status.MPI_SOURCE, status.MPI_TAG};
  MPI_CHECK(MPI_Recv(message.numbers.data(), length, MPI_LONG, message.sender, message.tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
  return message;
}

inline void send(const Numbers& numbers, int to, int tag) {
  MPI_CHECK(MPI_Send(numbers.data(), static_cast<int>(numbers.size()), MPI_LONG, to, tag, MPI_COMM_WORLD));
}

/// Does the tasks 0 to `tasks` - 1. On the workers each task is a call of work(task), which returns Numbers; on rank 0
/// consume(task, result) is called as soon as a result is there, in whatever order they come. One rank alone does both.
/// Called by all ranks. Returns the bytes of the results that rank 0 has received, and 0 on the workers.
template <typename Work, typename Consume>
long map_as_completed(const mpi::Environment& world, int tasks, Work work, Consume consume) {
  long bytes = 0;
  if (world.size() == 1) {
    for (int task = 0; task < tasks; ++task) consume(task, work(task));
  } else if (world.rank() == 0) {
    int next = 0;
    for (int working = world.size() - 1; working > 0;) {
      Message report = receive(MPI_ANY_SOURCE);
      const int answer = next < tasks ? next++ : no_task;  // the worker that reports is free, and gets the next task
      send({}, report.sender, answer);
      if (answer == no_task) --working;
      bytes += static_cast<long>(report.numbers.size() * sizeof(long));
      if (report.tag != no_task) consume(report.tag, std::move(report.numbers));  // while the worker does its next task
    }
  } else {
    send({}, 0, no_task);  // "free"
    for (int task; (task = receive(0).tag) != no_task;) send(work(task), 0, task);
  }
  // Else a worker could begin the next map while rank 0 still waits for reports of this one. Workers without a task
  // wait asleep: in MPI_Barrier they would keep the cores busy which the others need.
  world.sleeping_barrier();
  return bytes;
}

/// The results in the order of the tasks, on rank 0; empty on the others. `bytes`: see map_as_completed().
template <typename Work>
std::vector<Numbers> map(const mpi::Environment& world, int tasks, Work work, long* bytes = nullptr) {
  std::vector<Numbers> results(world.rank() == 0 ? tasks : 0);
  const long received =
      map_as_completed(world, tasks, work, [&](int task, Numbers&& result) { results[task] = std::move(result); });
  if (bytes != nullptr) *bytes = received;
  return results;
}

/// All results, none of which may be empty, combined by combine(sum, result), on rank 0; empty if there are no tasks,
/// and on the other ranks. Each worker combines its own results, so the order in which this happens is not known:
/// `combine` has to be associative and commutative. `bytes`: see map_as_completed().
template <typename Work, typename Combine>
Numbers map_reduce(const mpi::Environment& world, int tasks, Work work, Combine combine, long* bytes = nullptr) {
  std::optional<Numbers> mine;  // what this rank has combined so far
  const auto add = [&](Numbers&& result) {
    if (mine)
      combine(*mine, result);
    else
      mine = std::move(result);
  };
  const auto work_and_add = [&](int task) {
    add(work(task));
    return Numbers();  // the result stays here
  };
  long received = map_as_completed(world, tasks, work_and_add, [](int, const Numbers&) {});

  if (world.rank() != 0) {
    send(mine.value_or(Numbers()), 0, no_task);
    return {};
  }
  for (int worker = 1; worker < world.size(); ++worker) {
    Numbers share = receive(worker).numbers;  // one message per worker, and not one per task
    received += static_cast<long>(share.size() * sizeof(long));
    if (!share.empty()) add(std::move(share));
  }
  if (bytes != nullptr) *bytes = received;
  return mine.value_or(Numbers());
}

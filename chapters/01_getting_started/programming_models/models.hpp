/// One dot product in four programming models, which differ in what the tasks share or send each other.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <execution>
#include <functional>
#include <future>
#include <mutex>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "messages.hpp"

using Number = std::uint32_t;
using Sum = std::uint64_t;  // wraps around at 2^64, so the order of the additions does not matter
using Numbers = std::span<const Number>;

inline Sum dot(Numbers a, Numbers b) {
  Sum sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += Sum{a[i]} * b[i];
  return sum;
}

/// The numbers that belong to a task: a contiguous part. Tasks count from 0, so task 1 of 4 has the second quarter.
inline Numbers part(Numbers numbers, std::size_t task, std::size_t tasks) {
  const std::size_t first = numbers.size() * task / tasks, last = numbers.size() * (task + 1) / tasks;
  return numbers.subspan(first, last - first);
}

/// Shared memory: all tasks add to one variable, and take a lock for each addition.
inline Sum by_shared_memory(Numbers a, Numbers b, std::size_t tasks) {
  Sum sum = 0;
  std::mutex mutex;
  std::vector<std::jthread> threads;
  for (std::size_t task = 0; task < tasks; ++task) {
    threads.emplace_back([&, my_a = part(a, task, tasks), my_b = part(b, task, tasks)] {
      for (std::size_t i = 0; i < my_a.size(); ++i) {
        const std::scoped_lock lock(mutex);
        sum += Sum{my_a[i]} * my_b[i];
      }
    });
  }
  threads.clear();  // joins all threads
  return sum;
}

/// The same with a sum of its own for each task, which is added to the shared one at the end: one lock per task.
inline Sum by_shared_memory_once(Numbers a, Numbers b, std::size_t tasks) {
  Sum sum = 0;
  std::mutex mutex;
  std::vector<std::jthread> threads;
  for (std::size_t task = 0; task < tasks; ++task) {
    threads.emplace_back([&, my_a = part(a, task, tasks), my_b = part(b, task, tasks)] {
      const Sum mine = dot(my_a, my_b);
      const std::scoped_lock lock(mutex);
      sum += mine;
    });
  }
  threads.clear();
  return sum;
}

/// Futures: each task returns a result of its own, and one thread goes on with all of them.
inline Sum by_futures(Numbers a, Numbers b, std::size_t tasks) {
  std::vector<std::future<Sum>> results;
  for (std::size_t task = 0; task < tasks; ++task) {
    results.push_back(std::async(std::launch::async, dot, part(a, task, tasks), part(b, task, tasks)));
  }
  Sum sum = 0;
  for (std::future<Sum>& result : results) sum += result.get();  // waits for the end of the task
  return sum;
}

/// What a worker process does: it receives its part of both vectors, and sends back their dot product. (fork has given
/// it a copy of both vectors. It does not use that, as a worker on another machine could not.)
inline void work(int parent, std::size_t count) {
  std::vector<Number> a(count), b(count);
  receive_values(parent, a.data(), count);
  receive_values(parent, b.data(), count);
  const Sum sum = dot(a, b);
  send_values(parent, &sum, 1);
}

/// Starts a process that calls work(socket) and ends. Returns the other end of its socket.
template <typename Work>
int start_worker(Work work) {
  int ends[2];
  check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
  if (check(fork(), "fork") == 0) {  // in the new process
    close(ends[0]);  // the parent's end (it still has those for the workers before it, which do no harm here)
    work(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  return ends[0];
}

/// The sum of what all workers answer; waits for their ends.
inline Sum sum_of_answers(const std::vector<int>& workers) {
  Sum sum = 0, answer = 0;
  for (const int worker : workers) {
    receive_values(worker, &answer, 1);
    sum += answer;
    close(worker);
  }
  while (wait(nullptr) > 0) continue;
  return sum;
}

/// Messages: each worker is a process with memory of its own, and uses only what it was sent.
inline Sum by_messages(Numbers a, Numbers b, std::size_t tasks) {
  bytes_moved = 0;
  std::vector<int> workers;  // the sockets that lead to them
  for (std::size_t task = 0; task < tasks; ++task) {
    workers.push_back(start_worker([&](int parent) { work(parent, part(a, task, tasks).size()); }));
  }
  for (std::size_t task = 0; task < tasks; ++task) {
    send_values(workers[task], part(a, task, tasks).data(), part(a, task, tasks).size());
    send_values(workers[task], part(b, task, tasks).data(), part(b, task, tasks).size());
  }
  return sum_of_answers(workers);
}

/// The same with workers that have the vectors already, since fork gives each a copy of all memory: only the sums are
/// sent.
inline Sum by_messages_sums_only(Numbers a, Numbers b, std::size_t tasks) {
  bytes_moved = 0;
  std::vector<int> workers;
  for (std::size_t task = 0; task < tasks; ++task) {
    workers.push_back(start_worker([&](int parent) {
      const Sum sum = dot(part(a, task, tasks), part(b, task, tasks));
      send_values(parent, &sum, 1);
    }));
  }
  return sum_of_answers(workers);
}

/// Data parallel: one operation on the whole. The library decides how many threads and vector instructions it takes.
inline Sum by_data_parallel(Numbers a, Numbers b) {
  return std::transform_reduce(std::execution::par_unseq, a.begin(), a.end(), b.begin(), Sum{0}, std::plus<>(),
                               [](Number x, Number y) { return Sum{x} * y; });
}

// Four programming models
//
// One dot product, in four ways to say who has the numbers and who adds what. Shared memory: threads add to one sum,
// under a lock. Threads: one flow splits into several, each with a result of its own, and joins them. Messages:
// processes that use only what they are sent exchange numbers and sums, as on several machines. Data parallel: one
// operation on the whole, and the library divides the work. The four results are equal to the last bit.
//
// Compile: g++ -std=c++20 -O3 -Icommon chapters/01_getting_started/programming_models/programming_models.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o programming_models
// Run:     programming_models [--numbers N] [--tasks N]

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <execution>
#include <functional>
#include <future>
#include <mutex>
#include <numeric>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/posix.hpp"
#include "messages.hpp"

namespace {

using Number = std::uint32_t;
using Sum = std::uint64_t;  // wraps around at 2^64, so the order of the additions does not matter
using Numbers = std::span<const Number>;

Sum dot(Numbers a, Numbers b) {
  Sum sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += Sum{a[i]} * b[i];
  return sum;
}

/// The numbers that belong to a task: neighbours, so that task 1 of 4 has the second quarter.
Numbers part(Numbers numbers, std::size_t task, std::size_t tasks) {
  const std::size_t first = numbers.size() * task / tasks, last = numbers.size() * (task + 1) / tasks;
  return numbers.subspan(first, last - first);
}

Sum by_shared_memory(Numbers a, Numbers b, std::size_t tasks) {
  Sum sum = 0;  // one for all tasks
  std::mutex mutex;
  std::vector<std::jthread> threads;
  for (std::size_t task = 0; task < tasks; ++task) {
    threads.emplace_back([&, task] {
      const Sum mine = dot(part(a, task, tasks), part(b, task, tasks));
      std::scoped_lock lock(mutex);
      sum += mine;
    });
  }
  threads.clear();  // joins all threads
  return sum;
}

Sum by_threads(Numbers a, Numbers b, std::size_t tasks) {
  std::vector<std::future<Sum>> branches;  // each has a result of its own
  for (std::size_t task = 0; task < tasks; ++task) {
    branches.push_back(std::async(std::launch::async, dot, part(a, task, tasks), part(b, task, tasks)));
  }
  Sum sum = 0;
  for (std::future<Sum>& branch : branches) sum += branch.get();  // waits for the end of the branch
  return sum;
}

/// What a worker process does: it receives its part of both rows, and sends back their dot product. (It has a copy of
/// the rows, too, because it was forked; it does not use it, as a worker on another machine could not.)
void work(int socket, std::size_t count) {
  std::vector<Number> a(count), b(count);
  receive_values(socket, a.data(), count);
  receive_values(socket, b.data(), count);
  const Sum sum = dot(a, b);
  send_values(socket, &sum, 1);
}

Sum by_messages(Numbers a, Numbers b, std::size_t tasks) {
  std::vector<int> workers;  // the sockets that lead to them
  for (std::size_t task = 0; task < tasks; ++task) {
    const Numbers part_of_a = part(a, task, tasks), part_of_b = part(b, task, tasks);
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    if (check(fork(), "fork") == 0) {  // in the new process
      close(ends[0]);
      work(ends[1], part_of_a.size());
      _exit(0);
    }
    close(ends[1]);
    send_values(ends[0], part_of_a.data(), part_of_a.size());
    send_values(ends[0], part_of_b.data(), part_of_b.size());
    workers.push_back(ends[0]);
  }
  Sum sum = 0, answer = 0;
  for (const int worker : workers) {
    receive_values(worker, &answer, 1);
    sum += answer;
    close(worker);
  }
  while (wait(nullptr) > 0) continue;  // for the end of every worker
  return sum;
}

Sum by_data_parallel(Numbers a, Numbers b) {
  return std::transform_reduce(std::execution::par_unseq, a.begin(), a.end(), b.begin(), Sum{0}, std::plus<>(),
                               [](Number x, Number y) { return Sum{x} * y; });
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 1'000'000, tasks = 4;
  cookbook::Options options("Compute one dot product in four programming models");
  options.add("numbers", size, "numbers in each of the two rows", 1, 100'000'000);
  options.add("tasks", tasks, "threads or processes that share the work", 1, 64);
  options.parse(argc, argv);

  std::vector<Number> a(size), b(size);
  std::mt19937 random(1);
  std::generate(a.begin(), a.end(), std::ref(random));
  std::generate(b.begin(), b.end(), std::ref(random));
  const Sum expected = dot(a, b);

  cookbook::Checks checks;
  // Messages first, while this process has one thread: fork copies only the thread that calls it.
  checks.equal("messages between processes", by_messages(a, b, tasks), expected);
  checks.equal("shared memory, one sum under a lock", by_shared_memory(a, b, tasks), expected);
  checks.equal("threads, a sum of its own for each", by_threads(a, b, tasks), expected);
  checks.equal("data parallel", by_data_parallel(a, b), expected);
  return checks.exit_code();
}

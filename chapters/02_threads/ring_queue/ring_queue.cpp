// A queue without a lock
//
// Passes numbers between threads through two queues: one with a lock, and a ring of slots without one, in which a
// thread takes a ticket and waits only until it is its turn at one slot. Prints what 1000 items take in each, with all
// threads on one processor and on several, and how often the threads slept. A second processor makes the queue with a
// lock slower, because the threads now meet at the lock.
// The ring is in ring_queue.hpp, the queue with a lock in locked_queue.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/ring_queue/ring_queue.cpp common/cookbook/*.cpp -lfmt -pthread -o ring_queue
// Run:     ring_queue [--items N] [--threads N] [--capacity N]

#include "ring_queue.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "locked_queue.hpp"
#include "run_concurrently.hpp"

namespace {

struct Job {
  int threads, items, capacity;  // producers, and as many consumers; numbers per producer; slots of the queue
  int processors;                // on which the threads run
  long& wrong;                   // the numbers that did not arrive, or not in order
};

struct Cost {
  double microseconds = 1e18, sleeps = 0;  // both per 1000 items
};

/// How often this thread has slept so far: the system counts how often a thread gave up its processor to wait.
long times_slept() {
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) cookbook::exit_with_errno("getrusage");
  return usage.ru_nvcsw;
}

template <typename Work>
Cost cost_of(int threads, int processors, double items, Work work) {
  std::atomic<long> sleeps = 0;
  const double seconds = run_concurrently(threads, [&](int id) {
    cookbook::pin(id % processors);  // run_concurrently() has spread them over all processors
    const long before = times_slept();
    work(id);
    sleeps += times_slept() - before;
  });
  return {1e6 * seconds / items * 1000, static_cast<double>(sleeps) / items * 1000};
}

/// Adds the numbers that the consumers have not taken once, and in the order of each producer.
void count_wrong(const Job& job, const std::vector<std::vector<int>>& taken) {
  std::vector<int> times_taken(job.threads * job.items);
  for (const std::vector<int>& list : taken) {
    std::vector<int> last(job.threads, -1);  // the last number seen of each producer
    for (const int number : list) {
      ++times_taken[number];
      job.wrong += std::exchange(last[number / job.items], number) >= number;
    }
  }
  job.wrong += std::ssize(times_taken) - std::count(times_taken.begin(), times_taken.end(), 1);
}

/// Many items: the producers put as fast as the consumers take.
template <typename Queue>
Cost pass(const Job& job) {
  Queue queue(job.capacity);
  std::vector<std::vector<int>> taken(job.threads);  // one list per consumer, so that they need no lock for it
  for (auto& list : taken) list.reserve(job.threads * job.items);
  std::atomic<int> producing = job.threads;
  const Cost cost = cost_of(2 * job.threads, job.processors, job.threads * job.items, [&](int id) {
    if (id < job.threads) {
      for (int i = 0; i < job.items; ++i) queue.put(id * job.items + i);
      if (--producing == 0) queue.close();  // the last producer has finished: nothing more will come
    } else {
      while (const std::optional<int> number = queue.get()) taken[id - job.threads].push_back(*number);
    }
  });

  count_wrong(job, taken);
  return cost;
}

/// One item at a time: the next one is put only when the answer to this one has come.
template <typename Queue>
Cost there_and_back(const Job& job) {
  Queue there(job.capacity), back(job.capacity);
  const int items = std::max(1, job.items / 100);
  return cost_of(2, job.processors, items, [&](int id) {
    for (int i = 0; i < items; ++i) {
      if (id == 0) {
        there.put(i);
        job.wrong += back.get() != i;
      } else {
        back.put(*there.get());
      }
    }
  });
}

void print_row(const char* what, Cost (*with_lock)(const Job&), Cost (*ring)(const Job&), const Job& job) {
  Cost lowest[2];
  for (int run = 0; run < 3; ++run) {
    for (const int i : {0, 1}) {
      const Cost cost = (i == 0 ? with_lock : ring)(job);
      if (cost.microseconds < lowest[i].microseconds) lowest[i] = cost;
    }
  }
  cookbook::println("{:<31}{:8.0f} us{:8.0f} x{:11.0f} us{:8.0f} x", what, lowest[0].microseconds, lowest[0].sleeps,
                    lowest[1].microseconds, lowest[1].sleeps);
}

}  // namespace

int main(int argc, char** argv) {
  int items = 100'000, threads = 4, capacity = 1'024;
  cookbook::Options options("Pass items between threads without a lock");
  options.add("items", items, "numbers that each producer puts", 1, 1'000'000);
  options.add("threads", threads, "producers, and as many consumers, where many items are passed", 1, 64);
  options.add("capacity", capacity, "slots of the queues", 1, 100'000);
  options.parse(argc, argv);

  using Locked = LockedQueue<int>;
  using Ring = RingQueue<int>;
  const int all = cookbook::allowed_processors();
  long wrong = 0;
  cookbook::println("                                    with a lock             ring queue");
  cookbook::println("per 1000 items                      time    sleeps          time    sleeps");
  const auto many = [&](int processors) { return Job{threads, items, capacity, processors, wrong}; };
  print_row("many items, on one processor", pass<Locked>, pass<Ring>, many(1));
  print_row("many items, on all processors", pass<Locked>, pass<Ring>, many(all));
  const auto two_threads = [&](int processors) { return Job{1, items, capacity, processors, wrong}; };
  print_row("one at a time, on one processor", there_and_back<Locked>, there_and_back<Ring>, two_threads(1));
  print_row("one at a time, on two", there_and_back<Locked>, there_and_back<Ring>, two_threads(std::min(2, all)));

  cookbook::Checks checks;
  checks.equal("numbers that got lost, came twice or in a wrong order", wrong, 0);
  return checks.exit_code();
}

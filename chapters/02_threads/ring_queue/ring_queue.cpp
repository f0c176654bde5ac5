// Ring queue
//
// Two producers and two consumers share a queue without a lock. It is a ring of four slots. A thread takes a ticket,
// which is one atomic addition, and waits only until it is its turn at one slot. So producers and consumers do not wait
// for each other's locks. The class is in ring_queue.hpp; it is used like the queue with a lock of the recipe
// thread_queue.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/ring_queue/ring_queue.cpp common/cookbook/*.cpp -lfmt -pthread -o ring_queue
// Run:     ring_queue [--items N] [--threads N] [--capacity N]

#include "ring_queue.hpp"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

int main(int argc, char** argv) {
  int items = 10'000, threads = 2, capacity = 4;
  cookbook::Options options("Pass items between threads without a lock");
  options.add("items", items, "numbers that each producer puts", 1, 1'000'000);
  options.add("threads", threads, "producers, and as many consumers", 1, 64);
  options.add("capacity", capacity, "slots of the ring", 1, 100'000);
  options.parse(argc, argv);

  RingQueue<int> queue(capacity);
  std::vector<std::vector<int>> taken(threads);  // one list per consumer, so that they need no lock for it

  std::vector<std::jthread> producers, consumers;
  for (int id = 0; id < threads; ++id) {
    consumers.emplace_back([&, id] {
      while (const std::optional<int> number = queue.get()) taken[id].push_back(*number);
    });
    producers.emplace_back([&, id] {
      for (int i = 0; i < items; ++i) queue.put(id * items + i);
    });
  }
  producers.clear();  // waits for the producers: all numbers have been put,
  queue.close();      // so nothing more will come, and the consumers' loops end once the queue is empty
  consumers.clear();

  std::vector<int> times_taken(threads * items);
  bool in_order = true;
  for (const std::vector<int>& list : taken) {
    std::vector<int> last(threads, -1);  // the last number seen of each producer
    for (const int number : list) {
      ++times_taken[number];
      in_order = in_order && std::exchange(last[number / items], number) < number;
    }
  }

  cookbook::Checks checks;
  checks.equal("numbers that were taken exactly once", std::count(times_taken.begin(), times_taken.end(), 1),
               threads * items);
  checks.that("each consumer got the numbers of each producer in order", in_order);
  checks.that("a get() after the end returns nothing", !queue.get());
  return checks.exit_code();
}

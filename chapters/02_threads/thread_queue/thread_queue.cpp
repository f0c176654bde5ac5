// Thread queue
//
// A producer appends ten numbers to a bounded queue, three consumers pop them, and the queue does all the locking and
// waiting. join() returns when every number has been processed; close() then ends the consumers, which in the source
// wait for ever. Two queues of the same interface do it: plain_queue.hpp, a mutex and conditions round a std::deque,
// and ring_queue.hpp, which locks only to sleep and to wake. At the end both are timed beside oneTBB's and Boost's.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/thread_queue/thread_queue.cpp common/cookbook/*.cpp -lfmt -ltbb -pthread -o thread_queue
// Run:     thread_queue [--items N] [--producers N] [--consumers N] [--capacity N] [--queue ring|plain] [--measure N]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"
#include "plain_queue.hpp"
#include "queue_speed.hpp"
#include "ring_queue.hpp"

namespace {

struct Settings {
  std::size_t items = 10;
  std::size_t producers = 1;
  std::size_t consumers = 3;
  std::size_t capacity = 4;
  int delay_ms = 1;
  bool quiet = false;
};

struct Item {
  std::size_t number;
  int value;
};

/// Appends every `producers`-th of the values, from the one with the number `self` on. Returns the largest size seen.
template <typename Queue>
std::size_t produce(Queue& queue, std::size_t self, const std::vector<int>& values, const Settings& settings) {
  std::size_t largest = 0;
  for (std::size_t number = self; number < settings.items; number += settings.producers) {
    queue.put({number, values[number]});
    largest = std::max(largest, queue.size());
    if (!settings.quiet) cookbook::println("{} appended by producer {}", values[number], self + 1);
    if (settings.delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(settings.delay_ms));
  }
  return largest;
}

/// Pops and processes items until the queue is closed and empty. Returns them; counts them in `processed`.
template <typename Queue>
std::vector<Item> consume(Queue& queue, std::size_t self, std::atomic<std::size_t>& processed, bool quiet) {
  std::vector<Item> popped;
  while (const auto item = queue.get()) {
    popped.push_back(*item);
    if (!quiet) cookbook::println("{} popped by consumer {}", item->value, self + 1);
    ++processed;
    queue.task_done();
  }
  return popped;
}

template <typename Queue>
bool task_done_is_refused(Queue& queue) {
  try {
    queue.task_done();
  } catch (const std::logic_error&) {
    return true;
  }
  return false;
}

/// How many of a consumer's items come after a later item of the same producer.
std::size_t overtaken(const std::vector<Item>& popped, std::size_t producers) {
  std::vector<std::size_t> last(producers, 0);
  return static_cast<std::size_t>(std::count_if(popped.begin(), popped.end(), [&](const Item& item) {
    return item.number < std::exchange(last[item.number % producers], item.number);
  }));
}

template <typename Queue>
void demonstrate(const Settings& settings, cookbook::Verdict& verdict) {
  std::mt19937 random(2015);
  std::uniform_int_distribution<int> any_value(0, 256);
  std::vector<int> values(settings.items);
  std::generate(values.begin(), values.end(), [&] { return any_value(random); });

  Queue queue(settings.capacity);
  std::atomic<std::size_t> processed = 0;
  std::vector<std::vector<Item>> popped(settings.consumers);
  std::vector<std::size_t> largest(settings.producers);
  std::vector<std::jthread> producers, consumers;
  for (std::size_t i = 0; i < settings.consumers; ++i) {
    consumers.emplace_back([&, i] { popped[i] = consume(queue, i, processed, settings.quiet); });
  }
  for (std::size_t i = 0; i < settings.producers; ++i) {
    producers.emplace_back([&, i] { largest[i] = produce(queue, i, values, settings); });
  }
  producers.clear();  // waits for the threads: all is appended
  queue.join();       // waits for the task_done() calls: all is processed
  const std::size_t processed_at_join = processed;
  queue.close();  // no more will come: get() returns nothing, which ends the consumers
  consumers.clear();

  verdict.equal("items processed when join() returned", processed_at_join, settings.items);
  verdict.equal("one task_done() more is refused", task_done_is_refused(queue), true);
  verdict.within("largest size seen", *std::max_element(largest.begin(), largest.end()), 0U, queue.capacity());

  std::vector<int> times_popped(settings.items), popped_values;
  std::size_t overtakes = 0;
  for (const std::vector<Item>& items : popped) {
    overtakes += overtaken(items, settings.producers);
    for (const Item& item : items) {
      ++times_popped[item.number];
      popped_values.push_back(item.value);
    }
  }
  const auto once = std::count(times_popped.begin(), times_popped.end(), 1);
  verdict.equal("items popped exactly once", static_cast<std::size_t>(once), settings.items);
  std::sort(popped_values.begin(), popped_values.end());
  std::sort(values.begin(), values.end());
  verdict.that("sorted, the values popped are the values appended", popped_values == values);
  verdict.equal("items that a consumer popped after a later one of the same producer", overtakes, 0U);
}

/// What happens at the bounds, step by step in one thread.
template <typename Queue>
void check_rules(cookbook::Verdict& verdict) {
  const auto timeout = std::chrono::milliseconds(5);
  const auto lasts = [&](auto call) {
    const cookbook::Stopwatch watch;
    return !call() && watch.seconds() >= 0.005;
  };
  Queue queue(3);
  int put = 0;
  while (put < 5 && queue.try_put(int(put))) ++put;
  verdict.equal("items put into a queue of capacity 3 before it was full", put, 3);
  verdict.that("put_for() on full fails after its timeout", lasts([&] { return queue.put_for(9, timeout); }));

  std::vector<int> got;
  while (const auto item = queue.try_get()) got.push_back(*item);
  verdict.equal("popped in the order of appending", got, {0, 1, 2});
  verdict.that("get_for() on empty fails after its timeout", lasts([&] { return queue.get_for(timeout); }));

  queue.put(7);
  queue.close();
  verdict.equal("put() after close() succeeds", queue.put(8), false);
  got.clear();
  while (const auto item = queue.get()) got.push_back(*item);
  verdict.equal("popped after close(), until get() gives nothing", got, {7});
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::string queue = "ring";
  long measured = 50'000;
  cookbook::Options options("Pass items between threads through a bounded queue");
  options.add("items", settings.items, "items that the producers append", 1, 10'000'000);
  options.add("producers", settings.producers, "producing threads", 1, 64);
  options.add("consumers", settings.consumers, "consuming threads", 1, 64);
  options.add("capacity", settings.capacity, "items that the queue holds at most", 1, 1'000'000);
  options.add("delay-ms", settings.delay_ms, "pause of a producer after each item", 0, 1'000);
  options.add_choice("queue", queue, "the queue that is shown", {"ring", "plain"});
  options.add_flag("quiet", settings.quiet, "leave out the lines of the threads");
  options.add("measure", measured, "items that a measured run passes; 0 leaves the measurement out", 0, 100'000'000);
  options.parse(argc, argv);

  cookbook::Verdict verdict;
  if (queue == "plain") {
    demonstrate<PlainQueue<Item>>(settings, verdict);
    check_rules<PlainQueue<int>>(verdict);
  } else {
    demonstrate<RingQueue<Item>>(settings, verdict);
    check_rules<RingQueue<int>>(verdict);
  }
  if (measured > 0) measure_queues(measured, verdict);
  return verdict.exit_code();
}

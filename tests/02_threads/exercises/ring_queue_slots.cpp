// Tests a RingQueue whose get() and append() a learner has written.

#include "ring_queue.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using judge::expect;
using judge::within_two_seconds;

namespace {

/// Lets a queue begin with the put and the get of number n.
void begin_at(RingQueue<int>& queue, std::uint64_t n);
/// The first half of close(): the end is not appended yet.
void say_closed(RingQueue<int>& queue);

/// An explicit instantiation may name private members.
template <auto puts, auto gets, auto slots, auto closed>
struct Private {
  static void begin(RingQueue<int>& queue, std::uint64_t n) {
    queue.*puts = n;
    queue.*gets = n;
    const std::size_t capacity = (queue.*slots).size();
    for (std::uint64_t next = n; next < n + capacity; ++next) {
      (queue.*slots)[next % capacity].turn = static_cast<std::uint32_t>(2 * next);
    }
  }
  friend void begin_at(RingQueue<int>& queue, std::uint64_t n) { Private::begin(queue, n); }
  friend void say_closed(RingQueue<int>& queue) { queue.*closed = true; }
};
template struct Private<&RingQueue<int>::puts_, &RingQueue<int>::gets_, &RingQueue<int>::slots_,
                        &RingQueue<int>::closed_>;

void one_thread() {
  RingQueue<std::unique_ptr<int>> queue(3);  // of items that can only be moved
  for (int round = 0; round < 5; ++round) {  // so that the slots are used again
    for (int i = 0; i < 3; ++i) queue.put(std::make_unique<int>(10 * round + i));
    for (int i = 0; i < 3; ++i) {
      const auto item = queue.get();
      expect(item && *item && **item == 10 * round + i, "get() does not return the oldest item.");
    }
  }
  queue.put(std::make_unique<int>(1));
  queue.close();
  expect(queue.get().has_value(), "get() forgets an item that was put before the end.");
  std::atomic<int> told = 0;
  std::jthread consumer([&] {
    for (int i = 0; i < 2; ++i) told += !queue.get().has_value();
  });
  expect(within_two_seconds([&] { return told == 2; }), "Not every consumer that asks is told the end of the queue.");
}

/// A thread that waits sleeps, and goes on as soon as it is its turn.
template <typename Wait, typename Go>
void waits(Wait wait, Go go, const std::string& what) {
  std::atomic<pid_t> id = 0;
  std::atomic<bool> through = false;
  std::jthread thread([&] {
    id = gettid();
    wait();
    through = true;
  });
  while (id == 0) std::this_thread::yield();
  const bool asleep = judge::sleeps(id);
  expect(!through, what + " and its caller does not wait.");
  expect(asleep, what + " and its caller keeps its processor busy.");
  go();
  expect(within_two_seconds([&] { return through.load(); }), what + " and its caller goes on waiting when it is not.");
}

void threads_wait() {
  for (const std::uint64_t puts : {std::uint64_t{0}, (std::uint64_t{1} << 31) - 2}) {  // there the turns overflow
    RingQueue<int> queue(2);
    begin_at(queue, puts);
    const std::string after = puts == 0 ? "" : "After two billion puts, when the turns have overflowed: ";
    waits([&] { queue.get(); }, [&] { queue.put(1); }, after + "The queue is empty,");
    queue.put(1);
    queue.put(2);
    waits([&] { queue.put(3); }, [&] { queue.get(); }, after + "The queue is full,");
    expect(queue.get() == 2 && queue.get() == 3, after + "get() does not return the oldest item.");
  }
}

void the_end_is_not_there_yet() {
  RingQueue<int> queue(2);
  queue.put(1);
  say_closed(queue);
  expect(queue.get() == 1, "get() forgets the last item if close() has not appended the end yet.");
}

/// An item that takes its time when it is moved for the third time: on its way into the slot, or later. Or else when it
/// is first moved in a thread in which it is to stop: on its way out.
struct Slow {
  inline static std::atomic<bool> held = false, released = false;
  inline static thread_local bool stops_here = false;

  int number = 0, moves = 0;

  explicit Slow(int its_number) : number(its_number) {}
  Slow(Slow&& other) noexcept { *this = std::move(other); }
  Slow& operator=(Slow&& other) noexcept {
    number = other.number;
    moves = other.moves + 1;
    if ((number != 1 || moves != 2) && !std::exchange(stops_here, false)) return *this;
    held = true;
    while (!released) std::this_thread::sleep_for(1ms);
    return *this;
  }
};

void consumers_do_not_wait_for_each_other() {
  RingQueue<Slow> queue(4);
  queue.put(Slow(2));
  queue.put(Slow(3));
  Slow::held = Slow::released = false;
  std::atomic<int> first_item = 0, second_item = 0;
  std::jthread first([&] {
    Slow::stops_here = true;
    first_item = queue.get().value_or(Slow(0)).number;
  });
  expect(within_two_seconds([] { return Slow::held.load(); }), "get() does not move the item out of the queue.");
  std::jthread second([&] { second_item = queue.get().value_or(Slow(0)).number; });
  expect(within_two_seconds([&] { return second_item != 0; }),
         "While one consumer empties its slot, another one cannot empty the next: the two wait for each other.");
  Slow::released = true;
  first.join();
  expect(first_item == 2 && second_item == 3, "An item was taken twice, or never.");
}

void producers_do_not_wait_for_each_other() {
  RingQueue<Slow> queue(4);
  Slow::held = Slow::released = false;
  std::atomic<bool> second_is_in = false;
  std::jthread first([&] { queue.put(Slow(1)); });
  expect(within_two_seconds([] { return Slow::held.load(); }), "put() does not move the item into the queue.");
  std::jthread second([&] {
    queue.put(Slow(2));
    second_is_in = true;
  });
  expect(within_two_seconds([&] { return second_is_in.load(); }),
         "While one producer fills its slot, another one cannot fill the next: the two wait for each other.");
  std::atomic<int> sum = 0;
  std::jthread consumer([&] {
    for (int i = 0; i < 2; ++i) {
      const std::optional<Slow> item = queue.get();
      expect(item.has_value(), "get() takes an item that is not in its place yet.");
      sum += item->number;
    }
  });
  std::this_thread::sleep_for(20ms);
  Slow::released = true;
  consumer.join();
  expect(sum == 3, "An item was taken twice, or never.");
}

/// Waits until `count` threads have ended, for as long as they go on, however slowly.
bool all_end(const std::atomic<int>& ended, int count, const std::atomic<long>& steps) {
  for (long before = -1, now = steps; now != before && ended < count; now = steps) {
    before = now;
    within_two_seconds([&] { return ended >= count || steps != before; });
  }
  return ended >= count;
}

/// Nobody has to wait, so that two threads often take a number at the same moment.
void two_at_once() {
  constexpr int items = 10'000;
  RingQueue<int> queue(2 * items);
  std::vector<std::atomic<int>> taken(2 * items);
  for (const bool put : {true, false}) {
    std::latch both_are_there(2);
    std::atomic<int> ended = 0;
    std::atomic<long> steps = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        both_are_there.arrive_and_wait();
        for (int item = i; item < 2 * items; item += 2) {
          if (put) {
            queue.put(item);
          } else {
            ++taken[queue.get().value_or(0)];
          }
          if (item % 100 == i) ++steps;
        }
        ++ended;
      });
    }
    expect(all_end(ended, 2, steps),
           "Threads wait for ever, although there are items and room for them: a number was given twice, or never.");
  }
  for (const std::atomic<int>& times : taken) {
    expect(times == 1, "An item was taken twice, or never: a number was given twice, or never.");
  }
}

void many_threads(int capacity) {
  constexpr int items = 1'000, producers = 2;
  RingQueue<int> queue(capacity);
  std::vector<int> plain(items);  // not atomic: what a producer did before put() is visible behind get()
  std::vector<std::atomic<int>> taken(items);
  std::atomic<int> ended = 0, producing = producers;
  std::atomic<long> steps = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < producers; ++i) {
    threads.emplace_back([&, i] {
      for (int item = i; item < items; item += producers) {
        plain[item] = item;
        queue.put(item);
      }
      if (--producing == 0) queue.close();
      ++ended;
    });
    threads.emplace_back([&] {
      int last[producers] = {-1, -1};
      while (const std::optional<int> item = queue.get()) {
        expect(plain[*item] == *item, "What a producer did before put() is not visible behind get().");
        expect(++taken[*item] == 1, "An item was taken twice, or never.");
        expect(*item > last[*item % producers], "The items of one producer do not keep their order.");
        last[*item % producers] = *item;
        ++steps;
      }
      ++ended;
    });
  }
  expect(all_end(ended, 2 * producers, steps),
         "Threads wait for ever, although there are items and room for them: a number was given twice, or never.");
  for (const std::atomic<int>& times : taken) expect(times == 1, "An item was taken twice, or never.");
}

}  // namespace

int main() {
  one_thread();
  threads_wait();
  the_end_is_not_there_yet();
  producers_do_not_wait_for_each_other();
  consumers_do_not_wait_for_each_other();
  two_at_once();
  for (const int capacity : {1, 2, 7}) many_threads(capacity);
  std::puts("every slot had its turns");
}

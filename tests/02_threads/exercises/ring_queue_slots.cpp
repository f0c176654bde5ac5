// Tests a RingQueue whose get() and append() a learner has written.

#include "ring_queue.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using judge::expect;
using judge::within_two_seconds;

namespace {

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
  RingQueue<int> queue(2);
  waits([&] { queue.get(); }, [&] { queue.put(1); }, "The queue is empty,");
  queue.put(1);
  queue.put(2);
  waits([&] { queue.put(3); }, [&] { queue.get(); }, "The queue is full,");
  expect(queue.get() == 2 && queue.get() == 3, "get() does not return the oldest item.");
}

/// An item that takes its time when it is moved for the third time: on its way into the slot, or later.
struct Slow {
  inline static std::atomic<bool> held = false, released = false;

  int number = 0, moves = 0;

  explicit Slow(int its_number) : number(its_number) {}
  Slow(Slow&& other) noexcept { *this = std::move(other); }
  Slow& operator=(Slow&& other) noexcept {
    number = other.number;
    moves = other.moves + 1;
    if (number != 1 || moves != 2) return *this;
    held = true;
    while (!released) std::this_thread::sleep_for(1ms);
    return *this;
  }
};

void slots_do_not_wait_for_each_other() {
  RingQueue<Slow> queue(4);
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

/// Nobody has to wait, so that two threads often take a number at the same moment.
void two_at_once() {
  constexpr int items = 10'000;
  RingQueue<int> queue(2 * items);
  std::vector<std::atomic<int>> taken(2 * items);
  for (const bool put : {true, false}) {
    std::latch both_are_there(2);
    std::atomic<int> ended = 0;
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
        }
        ++ended;
      });
    }
    expect(within_two_seconds([&] { return ended == 2; }),
           "Threads wait for ever, although there are items and room for them: a number was given twice, or never.");
  }
  for (const std::atomic<int>& times : taken) {
    expect(times == 1, "An item was taken twice, or never: a number was given twice, or never.");
  }
}

void many_threads(int capacity) {
  constexpr int items = 1'500, producers = 2;
  RingQueue<int> queue(capacity);
  std::vector<int> plain(items);  // not atomic: what a producer did before put() is visible behind get()
  std::vector<std::atomic<int>> taken(items);
  std::atomic<int> ended = 0, producing = producers;
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
      }
      ++ended;
    });
  }
  expect(within_two_seconds([&] { return ended == 2 * producers; }) ||
             within_two_seconds([&] { return ended == 2 * producers; }),
         "Threads wait for ever, although there are items and room for them: a number was given twice, or never.");
  for (const std::atomic<int>& times : taken) expect(times == 1, "An item was taken twice, or never.");
}

}  // namespace

int main() {
  one_thread();
  threads_wait();
  slots_do_not_wait_for_each_other();
  two_at_once();
  for (const int capacity : {1, 2, 7}) many_threads(capacity);
  std::puts("every slot had its turns");
}

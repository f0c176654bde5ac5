// Tests a BlockingQueue whose get() a learner has written.

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace judge {

inline std::atomic<bool> in_a_hurry = false;

/// A condition variable for which time runs a hundred times as fast, if the test is in a hurry.
class ConditionVariable : public std::condition_variable {
 public:
  template <typename Duration, typename... Condition>
  auto wait_for(std::unique_lock<std::mutex>& lock, Duration time, Condition... condition) {
    const auto long_time = std::chrono::duration_cast<std::chrono::microseconds>(time);
    return std::condition_variable::wait_for(lock, in_a_hurry ? long_time / 100 : long_time, condition...);
  }
  template <typename Clock, typename Duration, typename... Condition>
  auto wait_until(std::unique_lock<std::mutex>& lock, std::chrono::time_point<Clock, Duration> end,
                  Condition... condition) {
    return wait_for(lock, end - Clock::now(), condition...);
  }
};

}  // namespace judge

namespace std {
using judge::ConditionVariable;
}

#define condition_variable ConditionVariable
#include "blocking_queue.hpp"
#undef condition_variable

using namespace std::chrono_literals;
using judge::expect;
using judge::within_two_seconds;

namespace {

void one_thread() {
  BlockingQueue<std::unique_ptr<int>> queue(10);  // of items that cannot be copied
  for (int i = 0; i < 10; ++i) queue.put(std::make_unique<int>(i));
  for (int i = 0; i < 10; ++i) {
    const auto item = queue.get();
    expect(item && *item && **item == i, "get() does not return the items in the order in which they were put.");
  }
  for (int i = 0; i < 2; ++i) queue.put(std::make_unique<int>(i));
  queue.close();
  for (int i = 0; i < 2; ++i) {
    const auto item = queue.get();
    expect(item && **item == i, "Items that are in the queue when it is closed must still be taken.");
  }
  for (int i = 0; i < 2; ++i) expect(!queue.get(), "get() returns an item of a queue that is closed and empty.");
}

void a_consumer_waits() {
  BlockingQueue<int> queue(10);
  std::atomic<bool> there = false;
  std::atomic<pid_t> id = 0;
  std::jthread consumer([&] {
    id = gettid();
    const judge::Effort before = judge::effort();
    const std::optional<int> item = queue.get();
    expect(judge::effort().seconds - before.seconds < 0.005,
           "get() keeps its processor busy for some time before it waits.");
    expect(item == 7, "get() returns something else than what was put.");
    there = true;
  });
  while (id == 0) std::this_thread::sleep_for(1ms);
  const bool asleep = judge::sleeps(id);
  expect(!there, "get() does not wait for an item.");
  expect(asleep, "get() keeps its processor busy while it waits.");
  queue.put(7);
  expect(within_two_seconds([&] { return there.load(); }), "A thread that waits in get() is not woken by put().");
}

void a_consumer_waits_for_long() {
  BlockingQueue<int> queue(10);
  judge::in_a_hurry = true;
  std::jthread consumer([&] {
    expect(queue.get().has_value(), "get() gives up after some time, and returns nothing, although the queue is open.");
  });
  std::this_thread::sleep_for(400ms);
  judge::in_a_hurry = false;
  queue.put(7);
}

void a_producer_waits(int capacity) {
  for (const bool with_limit : {false, true}) {
    BlockingQueue<int> queue(capacity);
    for (int i = 1; i <= capacity; ++i) queue.put(i);
    std::atomic<bool> put = false;
    std::jthread producer([&] {
      queue.put(0);
      put = true;
    });
    std::this_thread::sleep_for(20ms);
    expect((with_limit ? queue.get_for(5s) : queue.get()) == 1, "get() does not return the oldest item.");
    expect(within_two_seconds([&] { return put.load(); }),
           "A producer that waits since the queue is full is not woken when an item is taken.");
  }
}

void close_wakes_all() {
  BlockingQueue<int> queue(1);
  std::atomic<int> ended = 0;
  std::vector<std::jthread> consumers;
  for (int i = 0; i < 3; ++i) {
    consumers.emplace_back([&] {
      expect(!queue.get(), "get() returns an item that nobody has put.");
      ++ended;
    });
  }
  std::this_thread::sleep_for(20ms);
  queue.close();
  expect(within_two_seconds([&] { return ended == 3; }), "A thread that waits in get() does not return at close().");
}

void many_threads() {
  for (const int capacity : {1, 3}) {
    constexpr int items = 5'000;
    BlockingQueue<int> queue(capacity);
    std::atomic<bool> closed = false;
    std::vector<std::atomic<int>> taken(2 * items);
    {
      std::vector<std::jthread> consumers, producers;
      for (int i = 0; i < 4; ++i) {
        consumers.emplace_back([&] {
          while (const std::optional<int> item = queue.get()) ++taken[*item];
          expect(closed, "get() returns nothing, although the queue is not closed: another thread was faster.");
        });
      }
      for (int i = 0; i < 2; ++i) {
        producers.emplace_back([&, i] {
          for (int item = i * items; item < (i + 1) * items; ++item) queue.put(item);
        });
      }
      producers.clear();
      closed = true;
      queue.close();
    }
    for (const std::atomic<int>& times : taken) expect(times == 1, "An item was taken twice, or never.");
  }
}

}  // namespace

int main() {
  one_thread();
  a_consumer_waits();
  a_consumer_waits_for_long();
  a_producer_waits(1);
  a_producer_waits(3);
  close_wakes_all();
  many_threads();
  std::puts("the queue passes every item once");
}

/// Stress for the queues of thread_queue: all three kinds, four producers and four consumers at once.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "../../chapters/02_threads/thread_queue/plain_queue.hpp"
#include "../../chapters/02_threads/thread_queue/ring_queue.hpp"

namespace {

/// Without its short spin, so that every wait goes to sleep.
template <typename T>
struct SleepyRing : RingQueue<T> {
  explicit SleepyRing(std::size_t capacity) : RingQueue<T>(capacity, std::chrono::nanoseconds(0)) {}
};

/// A number that takes its time to move, so that others see items that are half in or half out.
struct Slow {
  long number = -1;

  Slow() = default;
  explicit Slow(long n) : number(n) {}
  Slow(Slow&& other) noexcept { *this = std::move(other); }
  Slow& operator=(Slow&& other) noexcept {
    std::this_thread::yield();
    number = other.number;
    return *this;
  }
  explicit operator long() const { return number; }
};

/// Calls body.template operator()<Queue>() for each queue of T.
template <typename T, typename Body>
void for_each_queue(Body body) {
  body.template operator()<PlainQueue<T>>();
  body.template operator()<RingQueue<T>>();
  body.template operator()<SleepyRing<T>>();
}

/// Four producers call put(queue, item) with their own numbers until it is false, four consumers get(queue) until it
/// is closed and empty; `midst` runs meanwhile and has to close the queue. Each item put must have been got once.
template <typename Queue>
void stress(std::size_t capacity, long items, auto put, auto get, auto midst) {
  Queue queue(capacity);
  std::vector<std::atomic<int>> balance(static_cast<std::size_t>(items));
  std::atomic<long> got = 0;
  std::vector<std::jthread> producers, consumers;
  for (int i = 0; i < 4; ++i) {
    producers.emplace_back([&, i] {
      for (long item = i; item < items; item += 4) balance[static_cast<std::size_t>(item)] += put(queue, item);
    });
    consumers.emplace_back([&] {
      for (;;) {
        auto item = get(queue);
        if (!item && queue.closed()) {
          item = queue.get();  // whatever closed() says, only this tells that it is empty, too
          if (!item) return;
        }
        if (!item) continue;
        --balance[static_cast<std::size_t>(static_cast<long>(*item))];
        ++got;
      }
    });
  }
  midst(queue, producers, got);
  ASSERT_TRUE(queue.closed());
  producers.clear();
  consumers.clear();
  for (const auto& count : balance) ASSERT_EQ(count, 0);
  EXPECT_EQ(queue.size(), 0U);
}

}  // namespace

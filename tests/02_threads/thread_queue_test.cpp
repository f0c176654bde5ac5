// Thread queue: the program seen from outside, and both of its queues under stress. Catalogue: 2.10, 2.C8.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "support/run.hpp"
#include "thread_queue_stress.hpp"

namespace {

using std::chrono::microseconds;
using test_support::run;

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(thread_queue, ten_items_go_from_one_producer_to_three_consumers) {
  for (const char* queue : {"ring", "plain"}) {
    const auto result = run("thread_queue", {"--queue", queue, "--measure", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto appended = result.captures("^(\\d+) appended by producer 1$");
    const auto popped = result.captures("^(\\d+) popped by consumer [123]$");
    EXPECT_EQ(appended.size(), 10U);
    EXPECT_EQ(sorted(popped), sorted(appended)) << result.text();
    for (const auto& value : appended) EXPECT_LE(std::stoi(value), 256);
    EXPECT_EQ(run("thread_queue", {"--measure", "0"}).captures("^(\\d+) appended"), appended);
    EXPECT_TRUE(result.has_line("ok    items processed when join() returned: 10")) << result.text();
    EXPECT_TRUE(result.has_line("ok    one task_done() more is refused: true")) << result.text();
  }
}

TEST(thread_queue, one_consumer_pops_in_the_order_of_appending) {
  for (const char* queue : {"ring", "plain"}) {
    for (const char* capacity : {"1", "3", "100"}) {
      const auto result = run("thread_queue", {"--queue", queue, "--capacity", capacity, "--consumers", "1", "--items",
                                               "500", "--delay-ms", "0", "--measure", "0"});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      const auto appended = result.captures("^(\\d+) appended");
      EXPECT_EQ(appended.size(), 500U);
      EXPECT_EQ(result.captures("^(\\d+) popped"), appended);
    }
  }
}

TEST(thread_queue, every_item_is_popped_once_whatever_the_numbers) {
  for (const char* queue : {"ring", "plain"}) {
    for (const char* producers : {"1", "4"}) {
      for (const char* consumers : {"1", "4"}) {
        for (const char* capacity : {"1", "2", "1024"}) {
          const auto result =
              run("thread_queue", {"--queue", queue, "--producers", producers, "--consumers", consumers, "--capacity",
                                   capacity, "--items", "3000", "--delay-ms", "0", "--quiet", "--measure", "0"});
          ASSERT_EQ(result.exit_code, 0) << result.text();
          EXPECT_TRUE(result.has_line("ok    items popped exactly once: 3000"));
          EXPECT_TRUE(result.has_line("ok    items processed when join() returned: 3000"));
          const auto largest = result.captures("largest size seen: (\\d+)");
          ASSERT_EQ(largest.size(), 1U);
          EXPECT_LE(std::stoi(largest[0]), std::stoi(capacity));
          EXPECT_TRUE(result.lines_with("(appended|popped) by").empty());
        }
      }
    }
  }
}

TEST(thread_queue, the_rules_hold_for_both_queues) {
  for (const char* queue : {"ring", "plain"}) {
    const auto result = run("thread_queue", {"--queue", queue, "--measure", "0"});
    for (const std::string rule :
         {"items put into a queue of capacity 3 before it was full: 3",
          "put_for() on full fails after its timeout: yes", "popped in the order of appending: [0, 1, 2]",
          "get_for() on empty fails after its timeout: yes", "put() after close() succeeds: false",
          "popped after close(), until get() gives nothing: [7]"}) {
      EXPECT_TRUE(result.has_line("ok    " + rule)) << queue << ": " << rule << '\n' << result.text();
    }
  }
}

TEST(thread_queue, ctrl_c_ends_it) {
  const auto result = run("thread_queue", {"--delay-ms", "1000"}, {.interrupt_after_ms = 200});
  EXPECT_EQ(result.exit_code, -SIGINT) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

// Without optimisation, and under a sanitizer, the compiler slows down the ring and not the library.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST(thread_queue, the_ring_passes_at_least_twice_as_many_items_as_the_peer) {
  double best = 0;
  for (int attempt = 0; attempt < 3 && best < 2; ++attempt) {
    const auto times = run("thread_queue").captures("^ring queue  .* M items/s .* ([0-9.]+) x$");
    ASSERT_EQ(times.size(), 1U);
    best = std::stod(times[0]);
  }
  EXPECT_GE(best, 2);
}
#endif

// From inside ---------------------------------------------------------------------------------------------------------

TEST(thread_queue, nothing_is_lost_with_four_of_both) {
  for_each_queue<long>([]<typename Queue>() {
    for (const std::size_t capacity : {1U, 2U, 1024U}) {
      stress<Queue>(
          capacity, 4'000, [](Queue& queue, long item) { return queue.put(std::move(item)); },
          [](Queue& queue) { return queue.get(); },
          [](Queue& queue, auto& producers, auto&) {
            producers.clear();
            queue.close();
          });
    }
  });
}

TEST(thread_queue, nothing_is_lost_when_closed_in_the_midst) {
  for_each_queue<Slow>([]<typename Queue>() {
    for (const std::size_t capacity : {1U, 2U, 1024U}) {
      for (long until = 0; until < 200; until += 10) {
        stress<Queue>(
            capacity, 2'000, [](Queue& queue, long item) { return queue.put(Slow(item)); },
            [](Queue& queue) { return queue.get(); },
            [until](Queue& queue, auto&, auto& got) {
              while (got < until) std::this_thread::yield();
              queue.close();
            });
      }
    }
  });
}

TEST(thread_queue, nothing_is_lost_when_timeouts_run_out) {
  for_each_queue<long>([]<typename Queue>() {
    for (const std::size_t capacity : {1U, 2U, 1024U}) {
      stress<Queue>(
          capacity, 2'000,
          [](Queue& queue, long item) {
            while (!queue.put_for(std::move(item), microseconds(item % 50)) && !queue.try_put(std::move(item))) {
              if (queue.closed()) return false;
            }
            return true;
          },
          [turn = std::make_shared<std::atomic<int>>(0)](Queue& queue) {
            const int n = (*turn)++ % 50;
            return n == 0 ? queue.try_get() : queue.get_for(microseconds(n));
          },
          [](Queue& queue, auto& producers, auto&) {
            producers.clear();
            queue.close();
          });
    }
  });
}

TEST(thread_queue, a_change_between_look_and_sleep_wakes_the_sleeper) {
  for (int round = 0; round < 100; ++round) {
    WaitingRoom room;
    std::atomic<bool> changed = false;
    std::vector<std::jthread> other;
    room.wait(WaitingRoom::Clock::time_point::max(), [&] {
      const bool seen = changed;
      if (other.empty()) {
        other.emplace_back([&] {
          changed = true;
          room.wake();
        });
        for (int i = 0; i < 10 || !changed; ++i) std::this_thread::yield();
      }
      return seen;
    });
  }
}

TEST(thread_queue, close_releases_those_who_wait) {
  for_each_queue<long>([]<typename Queue>() {
    for (int round = 0; round < 100; ++round) {
      Queue full(1), empty(1);
      full.put(1);
      std::jthread putting([&] { EXPECT_FALSE(full.put(2)); });
      std::jthread getting([&] { EXPECT_EQ(empty.get(), std::nullopt); });
      std::jthread getting_for([&] { EXPECT_EQ(empty.get_for(std::chrono::hours(1)), std::nullopt); });
      full.close();
      empty.close();
    }
  });
}

TEST(thread_queue, join_returns_only_after_the_last_task_done) {
  for_each_queue<long>([]<typename Queue>() {
    for (int round = 0; round < 300; ++round) {
      Queue queue(4);
      queue.join();  // nothing was put, so nothing is waited for
      for (long i = 0; i < 3; ++i) queue.put(long(i));
      std::atomic<bool> last = false;
      std::jthread joiner([&] {
        queue.join();
        EXPECT_TRUE(last);
      });
      for (int i = 0; i < 3; ++i) queue.get();
      for (int i = 0; i < 2; ++i) queue.task_done();
      last = true;
      queue.task_done();
      EXPECT_THROW(queue.task_done(), std::logic_error);
    }
  });
}

TEST(thread_queue, size_never_exceeds_the_capacity) {
  for_each_queue<long>([]<typename Queue>() {
    for (const std::size_t capacity : {1U, 3U}) {
      Queue queue(capacity);
      std::size_t largest = 0;
      std::jthread producer([&] {
        for (long i = 0; i < 3'000; ++i) queue.put(long(i));
        queue.close();
      });
      std::jthread consumer([&] {
        while (queue.get()) continue;
      });
      while (!queue.closed()) largest = std::max(largest, queue.size());
      EXPECT_LE(largest, capacity);
    }
  });
}

TEST(thread_queue, a_refused_item_stays_with_its_owner) {
  for_each_queue<std::unique_ptr<int>>([]<typename Queue>() {
    Queue queue(1);
    auto first = std::make_unique<int>(1), second = std::make_unique<int>(2);
    EXPECT_TRUE(queue.put(std::move(first)));
    EXPECT_EQ(first, nullptr);
    EXPECT_FALSE(queue.try_put(std::move(second)));
    EXPECT_FALSE(queue.put_for(std::move(second), microseconds(10)));
    queue.close();
    EXPECT_FALSE(queue.put(std::move(second)));
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(**queue.get(), 1);
    EXPECT_FALSE(queue.get().has_value());
  });
}

TEST(thread_queue, a_queue_of_capacity_0_is_refused) {
  EXPECT_THROW(PlainQueue<int>(0), std::invalid_argument);
  EXPECT_THROW(RingQueue<int>(0), std::invalid_argument);
}

}  // namespace

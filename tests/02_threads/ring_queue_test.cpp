// The program's output, what it counts as wrong, and RingQueue from inside.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "02_threads/ring_queue/locked_queue.hpp"

namespace noted {

using namespace std;

namespace chrono {

using namespace std::chrono;

/// In place of std::chrono::steady_clock: counts the looks, and can be made to go on by a microsecond at each of them.
struct steady_clock {
  static inline thread_local long looks = 0;
  static inline thread_local bool by_looks = false;

  static std::chrono::steady_clock::time_point now() {
    ++looks;
    if (!by_looks) return std::chrono::steady_clock::now();
    return std::chrono::steady_clock::time_point(std::chrono::microseconds(looks));
  }
};

}  // namespace chrono

/// A queue with a lock that notes its capacity, and how many items are put.
template <typename T>
struct NotedQueue : LockedQueue<T> {
  static inline std::vector<std::size_t> capacities;
  static inline std::atomic<long> puts = 0;
  explicit NotedQueue(std::size_t capacity) : LockedQueue<T>(capacity) { capacities.push_back(capacity); }
  void put(T item) {
    ++puts;
    LockedQueue<T>::put(std::move(item));
  }
};

}  // namespace noted

#define std noted
#include "02_threads/ring_queue/ring_queue.hpp"
#undef std

#define main main_of_the_program  // to call its functions
#define LockedQueue noted::NotedQueue
#include "02_threads/ring_queue/ring_queue.cpp"
#undef LockedQueue
#undef main

#include <unistd.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "cookbook/affinity.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::expect_all_wake;
using test_support::run;
using test_support::with_watchdog;

/// A number that takes its time to move, so that others see items that are half in or half out.
struct Slow {
  long number = -1;

  explicit Slow(long n) : number(n) {}
  Slow(Slow&& other) noexcept { *this = std::move(other); }
  Slow& operator=(Slow&& other) noexcept {
    std::this_thread::yield();
    number = std::exchange(other.number, -1);
    return *this;
  }
  operator long() const { return number; }
};

/// So many threads put, and as many get: each number has to be got once.
template <typename T>
void stress(std::size_t capacity, int threads, long items_each) {
  RingQueue<T> queue(capacity);
  std::vector<std::atomic<int>> balance(static_cast<std::size_t>(threads * items_each));
  with_watchdog([&] {
    std::vector<std::jthread> producers, consumers;
    for (int id = 0; id < threads; ++id) {
      consumers.emplace_back([&] {
        while (const auto item = queue.get()) --balance.at(static_cast<std::size_t>(long(*item)));
      });
      producers.emplace_back([&, id] {
        for (long item = id * items_each; item < (id + 1) * items_each; ++item) {
          ++balance[static_cast<std::size_t>(item)];
          queue.put(T(item));
        }
      });
    }
    producers.clear();
    queue.close();
  });
  for (const auto& count : balance) ASSERT_EQ(count, 0);
}

TEST(ring_queue, every_number_arrives_whatever_the_options) {
  for (const std::string threads : {"1", "3"}) {
    for (const char* capacity : {"1", "2", "1000"}) {
      const auto result =
          run("ring_queue", {"--items", "100", "--threads", threads, "--capacity", capacity}, {.limit = 60s});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_TRUE(result.has_line("ok    numbers that got lost, came twice or in a wrong order: 0"));
      const std::string costs = " +(?:\\d+ us +\\d+ x *){2}$";
      for (const std::string what : {"many items", "one at a time"}) {
        EXPECT_EQ(result.lines_with("^" + what + ", on [a-z ]+" + costs).size(), 2U) << result.text();
      }
    }
  }
}

TEST(ring_queue, so_many_items_are_passed_and_through_queues_of_the_capacity_that_the_options_say) {
  using Noted = noted::NotedQueue<int>;
  Noted::capacities.clear();
  Noted::puts = 0;
  std::string name = "ring_queue", items = "--items", item_number = "700", threads = "--threads", thread_number = "2",
              capacity = "--capacity", slots = "30";
  char* arguments[] = {name.data(),          items.data(),    item_number.data(), threads.data(),
                       thread_number.data(), capacity.data(), slots.data(),       nullptr};
  EXPECT_EQ(main_of_the_program(7, arguments), 0);
  // Each row three times: one queue for many items; there and back two queues, for a hundredth of the items.
  EXPECT_EQ(Noted::capacities, std::vector<std::size_t>(2 * 3 * (1 + 2), 30));
  EXPECT_EQ(Noted::puts, 2 * 3 * (2 * 700 + 2 * 7));
}

TEST(ring_queue, threads_that_wait_for_an_item_behind_a_lock_are_counted_as_asleep) {
  const auto result = run("ring_queue", {"--items", "2000", "--threads", "1"}, {.limit = 60s});
  const auto sleeps = result.captures("^one at a time, on one processor +\\d+ us +(\\d+) x");
  ASSERT_EQ(sleeps.size(), 1U) << result.text();
  EXPECT_GT(std::stoi(sleeps[0]), 0) << result.text();
}

TEST(ring_queue, the_queue_with_a_lock_wakes_one_thread_for_each_item) {
  const auto result = run("ring_queue", {"--items", "2000", "--capacity", "1"}, {.limit = 60s});
  const auto sleeps = result.captures("^many items, on one processor +\\d+ us +(\\d+) x");
  ASSERT_EQ(sleeps.size(), 1U) << result.text();
  EXPECT_LT(std::stoi(sleeps[0]), 4400) << "five per item if all are woken, and not three\n" << result.text();
}

TEST(ring_queue, a_row_shows_the_fastest_of_three_runs) {
  static int runs = 0;
  static const double microseconds[] = {30, 50, 10, 20, 20, 40};  // of both queues in turn
  const auto run_of_either = [](const Job&) {
    const double time = microseconds[runs++];
    return Cost{time, 2 * time};
  };
  long wrong = 0;
  testing::internal::CaptureStdout();
  print_row("a row", run_of_either, run_of_either, {1, 1, 1, 1, wrong});
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            fmt::format("{:<31}{:8} us{:8} x{:11} us{:8} x\n", "a row", 10, 20, 20, 40));
  EXPECT_EQ(runs, 6);
}

/// A queue that loses the number 3.
struct Losing : LockedQueue<int> {
  using LockedQueue::LockedQueue;
  void put(int number) {
    if (number != 3) LockedQueue::put(number);
  }
};

/// A queue that gives the number 9, the last of ten, twice.
struct Doubling : LockedQueue<int> {
  using LockedQueue::LockedQueue;
  void put(int number) {
    LockedQueue::put(number);
    if (number == 9) LockedQueue::put(number);
  }
};

/// A queue that gives the number 3 after the number 4.
struct Swapping : LockedQueue<int> {
  using LockedQueue::LockedQueue;
  void put(int number) {
    if (number != 3) LockedQueue::put(number);
    if (number == 4) LockedQueue::put(3);
  }
};

/// A queue that gives 1 more than was put.
struct Adding : LockedQueue<int> {
  using LockedQueue::LockedQueue;
  void put(int number) { LockedQueue::put(number + 1); }
};

TEST(ring_queue, a_number_that_is_lost_comes_twice_or_in_a_wrong_order_is_counted) {
  with_watchdog([] {
    const auto wrong_with = [](Cost (*way)(const Job&), int items) {
      long wrong = 0;
      way({.threads = 1, .items = items, .capacity = 20, .processors = 1, .wrong = wrong});
      return wrong;
    };
    EXPECT_EQ(wrong_with(pass<LockedQueue<int>>, 10), 0);
    EXPECT_EQ(wrong_with(pass<Losing>, 10), 1);
    EXPECT_EQ(wrong_with(pass<Doubling>, 10), 2);  // there twice, and the second one is not greater than the first
    EXPECT_EQ(wrong_with(pass<Swapping>, 10), 1);
    EXPECT_EQ(wrong_with(there_and_back<LockedQueue<int>>, 1'000), 0);
    EXPECT_EQ(wrong_with(there_and_back<Adding>, 1'000), 10);  // a hundredth as many go there and back
  });
}

TEST(ring_queue, items_come_out_in_the_order_in_which_they_went_in) {
  for (const std::size_t capacity : {1U, 3U, 64U}) {
    RingQueue<int> queue(capacity);
    for (int lap = 0; lap < 5; ++lap) {
      for (std::size_t i = 0; i < capacity; ++i) queue.put(static_cast<int>(i));
      for (std::size_t i = 0; i < capacity; ++i) EXPECT_EQ(queue.get(), static_cast<int>(i));
    }
  }
}

TEST(ring_queue, nothing_is_lost_or_taken_twice_by_many_of_both) {
  for (const std::size_t capacity : {1U, 2U, 100U}) {
    stress<long>(capacity, 3, 2'000);
    stress<Slow>(capacity, 2, 1'000);
  }
}

TEST(ring_queue, producers_never_get_the_same_ticket) {
  RingQueue<int> queue(400'000);  // room for all, so that the producers meet each other and nothing else
  with_watchdog([&] {
    const auto put_all = [&] {
      for (int i = 0; i < 200'000; ++i) queue.put(1);
    };
    std::jthread second(put_all);
    put_all();
    second.join();
    for (int i = 0; i < 400'000; ++i) ASSERT_TRUE(queue.get());
  });
}

TEST(ring_queue, a_put_wakes_a_consumer_that_sleeps) {
  RingQueue<int> queue(2);
  expect_all_wake(
      1, [&] { EXPECT_EQ(queue.get(), 7); }, [&] { queue.put(7); });
}

TEST(ring_queue, who_waits_spins_for_five_microseconds_before_it_sleeps) {
  using Clock = noted::chrono::steady_clock;
  RingQueue<int> queue(2);
  long looks = 0;
  expect_all_wake(
      1,
      [&] {
        Clock::by_looks = true;
        EXPECT_EQ(queue.get(), 7);
        looks = Clock::looks;
      },
      [&] { queue.put(7); });
  EXPECT_EQ(looks, 6) << "one at the beginning, and five until a microsecond each has gone";
}

TEST(ring_queue, a_get_wakes_a_producer_that_sleeps) {
  RingQueue<int> queue(1);
  queue.put(1);
  expect_all_wake(
      1, [&] { queue.put(2); }, [&] { EXPECT_EQ(queue.get(), 1); });
  EXPECT_EQ(queue.get(), 2);
}

TEST(ring_queue, close_wakes_all_consumers_that_sleep) {
  RingQueue<int> queue(1);
  expect_all_wake(
      4, [&] { EXPECT_EQ(queue.get(), std::nullopt); }, [&] { queue.close(); });
}

TEST(ring_queue, close_waits_while_the_queue_is_full) {
  RingQueue<int> queue(1);
  queue.put(1);
  expect_all_wake(
      1, [&] { queue.close(); }, [&] { EXPECT_EQ(queue.get(), 1); });
  EXPECT_EQ(queue.get(), std::nullopt);
}

TEST(ring_queue, no_more_items_are_inside_than_the_capacity) {
  RingQueue<int> queue(3);
  std::atomic<int> put = 0;
  std::jthread producer([&] {
    for (int i = 0; i < 1'000; ++i) {
      queue.put(i);
      ++put;
    }
  });
  for (int taken = 0; taken < 1'000; ++taken) {
    EXPECT_LE(put, taken + 3);
    queue.get();
  }
}

TEST(ring_queue, what_was_put_before_close_can_still_be_taken) {
  RingQueue<std::unique_ptr<int>> queue(4);
  queue.put(std::make_unique<int>(7));
  queue.put(nullptr);  // an item like others: the end is an empty optional, not an empty item
  queue.close();
  EXPECT_EQ(**queue.get(), 7);
  EXPECT_EQ(*queue.get(), nullptr);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(queue.get().has_value());
}

TEST(ring_queue, the_queue_with_a_lock_that_it_is_compared_with_is_right) {
  LockedQueue<int> queue(2);
  queue.put(1);
  queue.put(2);
  expect_all_wake(
      1, [&] { queue.put(3); }, [&] { EXPECT_EQ(queue.get(), 1); });  // waits while it is full
  EXPECT_EQ(queue.get(), 2);
  EXPECT_EQ(queue.get(), 3);
  expect_all_wake(
      1, [&] { EXPECT_EQ(queue.get(), 4); }, [&] { queue.put(4); });  // waits while it is empty
  expect_all_wake(
      4, [&] { EXPECT_EQ(queue.get(), std::nullopt); }, [&] { queue.close(); });
}

TEST(ring_queue, misuse_is_refused) {
  EXPECT_THROW(RingQueue<int>(0), std::invalid_argument);
  RingQueue<int> queue(2);
  queue.close();
  EXPECT_THROW(queue.put(1), std::logic_error);
}

/// What the program prints of a row: the figures of both queues.
struct Figures {
  int locked_time, locked_sleeps, ring_time, ring_sleeps;
};

Figures figures_of(const test_support::Result& result, const std::string& row) {
  const auto figure = [&](const std::string& before, const std::string& unit) {
    const auto found = result.captures("^" + row + before + " +(\\d+) " + unit);
    EXPECT_EQ(found.size(), 1U) << row << result.text();
    return found.empty() ? -1 : std::stoi(found[0]);
  };
  const std::string us = " +\\d+ us", x = " +\\d+ x";
  return {figure("", "us"), figure(us, "x"), figure(us + x, "us"), figure(us + x + us, "x")};
}

TEST(ring_queue_timing, threads_on_two_processors_sleep_less_often_at_the_ring_than_behind_a_lock) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "two processors are needed";
  const auto result = run("ring_queue", {"--items", "100000", "--threads", "1"}, {.limit = 60s});
  const Figures on_two = figures_of(result, "one at a time, on two");
  EXPECT_LT(2 * on_two.ring_sleeps, on_two.locked_sleeps) << result.text();
}

TEST(ring_queue_timing, more_processors_make_the_queue_with_a_lock_slower_and_there_the_ring_is_faster) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "two processors are needed";
  const auto result = run("ring_queue", {"--items", "100000", "--threads", "4"}, {.limit = 60s});
  const Figures on_one = figures_of(result, "many items, on one processor"),
                on_all = figures_of(result, "many items, on all processors");
  EXPECT_GT(on_all.locked_time, on_one.locked_time) << result.text();
  EXPECT_LT(on_all.ring_time, on_all.locked_time) << result.text();  // alignas(64) for the slots makes it slower
}

TEST(ring_queue_timing, on_one_processor_the_ring_spins_in_vain_but_not_for_long) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "two processors are needed";
  const auto result = run("ring_queue", {"--items", "20000", "--threads", "1"}, {.limit = 60s});
  const Figures on_one = figures_of(result, "one at a time, on one processor"),
                on_two = figures_of(result, "one at a time, on two");
  EXPECT_GT(on_one.ring_time, 2 * on_two.ring_time) << result.text();
  EXPECT_LT(on_one.ring_time, 30 * on_one.locked_time) << result.text();
}

}  // namespace

// The program's output, Semaphore from inside, and two semaphores taken crosswise.

#include "02_threads/semaphore/semaphore_class.hpp"

#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <semaphore>
#include <thread>
#include <vector>

#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

test_support::Result run_with(const std::vector<std::string>& arguments) {
  return run("semaphore", arguments, {.limit = 10s});
}

TEST(semaphore, each_item_is_asked_for_then_made_then_taken) {
  for (const int items : {1, 5, 300}) {
    const auto result = run_with({"--items", std::to_string(items), "--query-ms", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto lines = result.lines_with("^consumer|^producer");
    ASSERT_EQ(lines.size(), 3U * items) << result.text();
    for (int i = 0; i < items; ++i) {
      EXPECT_EQ(lines[3 * i], "consumer wants an item");
      EXPECT_EQ(lines[3 * i + 1], "producer makes item " + std::to_string(i + 1));
      EXPECT_EQ(lines[3 * i + 2], "consumer takes item " + std::to_string(i + 1));
    }
  }
}

TEST(semaphore, as_many_queries_run_as_there_are_permits_and_none_is_shorter) {
  for (const std::string time : {"0", "20"}) {
    const auto result = run_with({"--query-ms", time});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto most = result.captures("^starts at \\d +(\\d+) +\\d+ x " + time + " ms +\\d+ ms$");
    EXPECT_EQ(most, (std::vector<std::string>{"6", "3", "2", "1"})) << result.text();
    const auto expected = result.captures("^starts at \\d +\\d+ +(\\d+) x " + time + " ms +\\d+ ms$");
    EXPECT_EQ(expected, (std::vector<std::string>{"1", "2", "3", "6"})) << result.text();  // those that cannot overlap
    const auto ms = result.captures("^starts at \\d .* (\\d+) ms$");
    ASSERT_EQ(ms.size(), 4U);
    ASSERT_EQ(expected.size(), 4U);
    for (int i = 0; i < 4; ++i) {
      EXPECT_GE(std::stoi(ms[i]), std::stoi(expected[i]) * std::stoi(time)) << result.text();
    }
  }
}

TEST(semaphore_class, grants_as_many_as_it_has_permits) {
  for (const int permits : {0, 1, 3}) {
    Semaphore semaphore(permits);
    for (int i = 0; i < permits; ++i) EXPECT_TRUE(semaphore.try_acquire());
    EXPECT_FALSE(semaphore.try_acquire());
    semaphore.release();
    EXPECT_TRUE(semaphore.try_acquire());
    EXPECT_FALSE(semaphore.try_acquire());
  }
}

TEST(semaphore_class, refuses_a_negative_number) { EXPECT_THROW(Semaphore(-1), std::invalid_argument); }

TEST(semaphore_class, acquire_waits_for_a_release_by_another_thread) {
  for (int round = 0; round < 200; ++round) {
    Semaphore semaphore(0);
    int written = 0;  // no atomic: the semaphore orders the two threads
    std::jthread waiting([&] {
      semaphore.acquire();
      EXPECT_EQ(written, 1);
      EXPECT_FALSE(semaphore.try_acquire());  // nothing is left after a round
    });
    written = 1;
    semaphore.release();
  }
}

TEST(semaphore_class, release_wakes_a_thread_that_sleeps) {
  test_support::with_watchdog([] {
    for (int round = 0; round < 100; ++round) {
      Semaphore semaphore(0);
      std::atomic<pid_t> id = 0;
      std::jthread waiting([&] {
        id = gettid();
        semaphore.acquire();
      });
      while (id == 0) std::this_thread::yield();
      test_support::wait_until_asleep(id);
      semaphore.release();
    }
  });
}

TEST(semaphore_class, starts_at_one_as_a_lock) {
  Semaphore semaphore(1);
  long counter = 0;
  {
    const auto count = [&] {
      for (int i = 0; i < 100'000; ++i) {
        semaphore.acquire();
        ++counter;
        semaphore.release();
      }
    };
    std::jthread first(count), second(count);
  }
  EXPECT_EQ(counter, 200'000);
}

TEST(semaphore_class, wakes_all_of_many_waiting_threads) {
  Semaphore semaphore(0);
  std::atomic<int> gone_on = 0;
  {
    std::vector<std::jthread> waiting;
    for (int i = 0; i < 8; ++i) {
      waiting.emplace_back([&] {
        semaphore.acquire();
        ++gone_on;
      });
    }
    for (int i = 0; i < 8; ++i) semaphore.release();
  }
  EXPECT_EQ(gone_on, 8);
}

TEST(semaphore_class, one_release_too_many_lets_two_threads_in) {
  Semaphore lock(1);
  lock.release();  // without an acquire()
  EXPECT_TRUE(lock.try_acquire());
  EXPECT_TRUE(lock.try_acquire());
}

/// Takes two semaphores crosswise, each within 20 ms; how many threads got both.
int crosswise() {
  std::binary_semaphore one(1), two(1);
  std::barrier barrier(2);
  std::atomic<int> got_both = 0;
  const auto take = [&](std::binary_semaphore& first, std::binary_semaphore& second) {
    first.acquire();
    barrier.arrive_and_wait();
    got_both += second.try_acquire_for(20ms);
    barrier.arrive_and_wait();
  };
  {
    std::jthread a([&] { take(one, two); });
    std::jthread b([&] { take(two, one); });
  }
  return got_both;
}

TEST(semaphore_pairs, deadlock_if_they_are_taken_crosswise) { EXPECT_EQ(crosswise(), 0); }

TEST(semaphore_pairs, do_not_deadlock_in_a_fixed_order) {
  Semaphore one(1), two(1);
  long had_both = 0;
  {
    const auto take = [&] {
      for (int i = 0; i < 20'000; ++i) {
        one.acquire();
        two.acquire();
        ++had_both;
        two.release();
        one.release();
      }
    };
    std::jthread a(take), b(take);
  }
  EXPECT_EQ(had_both, 40'000);
}

}  // namespace

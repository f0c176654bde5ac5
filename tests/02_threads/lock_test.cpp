// The program's output, the locks that it takes, and what the page says about locks.

#define main main_of_the_program  // to call it
#include "02_threads/lock/lock.cpp"
#undef main

#include <chrono>
#include <mutex>
#include <regex>
#include <semaphore>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "02_threads/another_can_lock.hpp"
#include "04_async/count_locks.hpp"
#include "cookbook/affinity.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// What stands in a row: where the counter ends, and the share of lost additions.
struct Row {
  long counter = -1;
  double lost = -1;
};

Row row_of(const test_support::Result& result, const std::string& name) {
  const auto a = result.captures("^" + name + " +(\\d+) +\\d+\\.\\d % +\\d+\\.\\d ns$");
  const auto b = result.captures("^" + name + " +\\d+ +(\\d+\\.\\d) % +\\d+\\.\\d ns$");
  EXPECT_TRUE(a.size() == 1 && b.size() == 1) << name << "\n" << result.text();
  if (a.size() != 1 || b.size() != 1) return {};
  return {std::stol(a[0]), std::stod(b[0])};
}

TEST(lock, no_addition_is_lost_with_a_lock_and_some_may_be_without) {
  // On a busy machine the threads may take turns and seldom meet, so there is one longer run.
  for (const long additions : {1L, 2L, 1'000L, 100'000L, 1'000'000L, 5'000'000L}) {
    const auto result = run("lock", {"--additions", std::to_string(additions)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    for (const std::string name : {"with a lock", "atomic addition"}) {
      EXPECT_EQ(row_of(result, name).counter, 2 * additions) << result.text();
      EXPECT_EQ(row_of(result, name).lost, 0) << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    counter with a lock: " + std::to_string(2 * additions))) << result.text();
    EXPECT_TRUE(result.has_line("ok    counter with an atomic addition: " + std::to_string(2 * additions)));
    const Row in_two_steps = row_of(result, "load, then store");
    EXPECT_GE(in_two_steps.counter, 1) << result.text();
    EXPECT_LE(in_two_steps.counter, 2 * additions) << result.text();
    EXPECT_NEAR(in_two_steps.lost, 100.0 - 50.0 * static_cast<double>(in_two_steps.counter) / additions, 0.051)
        << result.text();
  }
}

#ifdef COUNTS_LOCKS
// The rows with a lock and with an atomic addition end alike, so the output does not tell one from the other, nor from
// a loop of which the compiler has made one addition.
TEST(lock, one_row_alone_takes_a_lock_for_each_addition) {
  std::string name = "lock", option = "--additions", amount = "1000";
  char* arguments[] = {name.data(), option.data(), amount.data(), nullptr};
  const long before = locks_taken;
  testing::internal::CaptureStdout();
  const int code = main_of_the_program(3, arguments);
  std::fflush(stdout);
  const std::string output = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0) << output;
  EXPECT_GE(locks_taken - before, 2'000) << output;
  EXPECT_LT(locks_taken - before, 2'500) << output;  // the libraries take a few
}
#endif

TEST(lock, a_row_shows_the_share_that_is_lost_and_the_time_divided_by_the_additions_of_both) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(print_row("some", 100, [](long) { return Outcome{.counter = 150, .seconds = 2e-6}; }), 150);
  std::fflush(stdout);
  const std::string output = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(std::regex_match(output, std::regex("some +150 +25\\.0 % +10\\.0 ns\n"))) << output;
}

TEST(lock, the_seconds_are_those_of_the_additions) {
  for (Outcome (*add)(long) : {load_then_store, with_lock, with_atomic_add}) {
    double share = 0;
    for (int attempt = 0; attempt < 20 && share < 0.5; ++attempt) {  // a busy machine may start the threads late
      const auto start = std::chrono::steady_clock::now();
      const double seconds = add(3'000'000).seconds;
      share = seconds / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      EXPECT_LE(share, 1);
    }
    EXPECT_GE(share, 0.5);
  }
}

TEST(lock, additions_get_lost_without_a_lock) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "one processor";
  // On a busy machine the two threads may run one after the other, but not again and again.
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::seconds(30)) {
    const auto result = run("lock");
    ASSERT_EQ(result.exit_code, 0) << result.text();  // the two threads that have a lock lose none
    if (row_of(result, "load, then store").lost > 0) return;
  }
  FAIL() << "no addition was lost in 30 seconds";
}

TEST(lock, a_forced_order_loses_exactly_one_addition) {
  for (int round = 0; round < 20; ++round) {
    const auto result = run("lock", {"--additions", "1"});
    EXPECT_EQ(result.lines_with("^[AB] "),
              (std::vector<std::string>{"A loads  0", "B loads  0", "B stores 1", "A stores 1"}))
        << result.text();
    EXPECT_EQ(result.out.at(1), "A loads  0") << "before the rows\n" << result.text();
    EXPECT_TRUE(result.has_line("ok    counter after two additions, one of them lost: 1")) << result.text();
  }
}

TEST(lock_mutex, only_an_unlocked_one_can_be_locked_by_another_thread) {
  std::mutex mutex;
  EXPECT_TRUE(another_can_lock(mutex));
  {
    std::scoped_lock lock(mutex);
    EXPECT_FALSE(another_can_lock(mutex));
  }
  EXPECT_TRUE(another_can_lock(mutex));
}

TEST(lock_mutex, is_unlocked_when_an_exception_leaves_the_block) {
  std::mutex mutex;
  try {
    std::scoped_lock lock(mutex);
    throw 1;
  } catch (int) {
  }
  EXPECT_TRUE(another_can_lock(mutex));
}

TEST(lock_mutex, a_unique_lock_refuses_to_unlock_what_it_does_not_hold) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  lock.unlock();
  try {
    lock.unlock();
    FAIL() << "unlocked twice";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::operation_not_permitted);
  }
}

TEST(lock_binary_semaphore, may_be_released_by_another_thread) {
  std::binary_semaphore semaphore(1);
  semaphore.acquire();
  EXPECT_FALSE(semaphore.try_acquire());
  std::jthread([&] { semaphore.release(); }).join();
  EXPECT_TRUE(semaphore.try_acquire());
}

}  // namespace

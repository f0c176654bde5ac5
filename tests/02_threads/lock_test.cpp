// The program's output, and what the page says about locks.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <semaphore>
#include <string>
#include <system_error>
#include <thread>

#include "cookbook/affinity.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Where the counter of a row ends.
std::vector<std::string> counter_of(const test_support::Result& result, const std::string& row) {
  return result.captures("^" + row + " +(-?\\d+) +-?\\d+\\.\\d ns$");
}

TEST(lock, ends_at_zero_with_a_lock_and_in_range_without) {
  // On a busy machine the threads may take turns and seldom meet, so there is one longer run.
  for (const long changes : {1L, 2L, 1'000L, 100'000L, 1'000'000L, 3'000'000L}) {
    const auto result = run("lock", {"--changes", std::to_string(changes)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(counter_of(result, "with a lock"), std::vector<std::string>{"0"}) << result.text();
    EXPECT_EQ(counter_of(result, "atomic addition"), std::vector<std::string>{"0"}) << result.text();
    EXPECT_TRUE(result.has_line("ok    counter with a lock, with an atomic addition: [0, 0]")) << result.text();
    const auto in_two_steps = counter_of(result, "load, then store");
    ASSERT_EQ(in_two_steps.size(), 1U) << result.text();
    EXPECT_LE(std::abs(std::stol(in_two_steps[0])), changes);
  }
}

TEST(lock, the_changes_take_no_longer_than_the_run) {
  constexpr double changes = 5'000'000;  // of each thread
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("lock", {"--changes", "5000000"});
  const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  const auto costs = result.captures("^.+ +(\\d+\\.\\d) ns$");
  ASSERT_EQ(costs.size(), 3U) << result.text();
  double counted = 0;
  for (const std::string& cost : costs) counted += std::stod(cost) * 2 * changes;
  EXPECT_LE(counted, 1.05 * ns) << result.text();  // the costs are rounded
}

TEST(lock, the_row_with_a_lock_takes_one_for_each_change) {
  // Without the lock the compiler makes one addition of the whole loop, and that is seldom interrupted: the counter
  // ends at 0 all the same. But then a change takes no time. To take a lock and give it back takes some ns on any
  // machine.
  const auto result = run("lock", {"--changes", "1000000"});
  const auto cost = result.captures("^with a lock +-?\\d+ +(\\d+\\.\\d) ns$");
  ASSERT_EQ(cost.size(), 1U) << result.text();
  EXPECT_GT(std::stod(cost[0]), 1.0) << result.text();
}

TEST(lock, updates_get_lost_without_it) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor";
  // On a busy machine the two threads may run one after the other, but not again and again.
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::seconds(30)) {
    const auto result = run("lock");
    ASSERT_EQ(result.exit_code, 0) << result.text();  // the two threads that have a lock lose none
    const auto counter = counter_of(result, "load, then store");
    if (counter.size() == 1 && counter[0] != "0") return;
  }
  FAIL() << "no update was lost in 30 seconds";
}

TEST(lock, one_thread_alone_loses_nothing) {
  for (const std::string changes : {"1", "77", "500000"}) {
    const auto result = run("lock", {"--changes", changes});
    EXPECT_TRUE(result.has_line("ok    counter after additions alone, in each of the three ways: [" + changes + ", " +
                                changes + ", " + changes + "]"))
        << result.text();
  }
}

TEST(lock, a_forced_order_loses_exactly_one_update) {
  for (int round = 0; round < 20; ++round) {
    const auto result = run("lock", {"--changes", "1"});
    EXPECT_EQ(result.lines_with("^(up|down) "),
              (std::vector<std::string>{"up   loads  0", "down loads  0", "down stores -1", "up   stores 1"}))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    counter after one +1 and one -1, the -1 lost: 1")) << result.text();
  }
}

TEST(lock_timing, the_changes_take_most_of_the_run) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("lock", {"--changes", "5000000"});
  const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  const auto costs = result.captures("^.+ +(\\d+\\.\\d) ns$");
  ASSERT_EQ(costs.size(), 3U) << result.text();
  double counted = 0;
  for (const std::string& cost : costs) counted += std::stod(cost) * 2 * 5'000'000;
  EXPECT_GE(counted, 0.5 * ns) << "the rest is one thread alone, which makes half as many\n" << result.text();
}

TEST(lock_timing, a_lock_around_each_change_takes_longer_than_an_atomic_addition) {
  double locked = 1e9, added = 1e9;  // the shortest of several runs, in ns per change
  std::jthread([&] {
    cookbook::pin(0);  // on one processor, where the times differ least from run to run
    for (int i = 0; i < 5; ++i) {
      const auto result = run("lock");
      const auto costs = result.captures("^(?:with a lock|atomic addition) +-?\\d+ +(\\d+\\.\\d) ns$");
      ASSERT_EQ(costs.size(), 2U) << result.text();
      locked = std::min(locked, std::stod(costs[0]));
      added = std::min(added, std::stod(costs[1]));
    }
  }).join();
  EXPECT_GT(locked, 1.5 * added);
}

/// Whether another thread than the caller can lock the mutex now; if so, it unlocks it again.
bool another_can_lock(std::mutex& mutex) {
  bool locked = false;
  std::jthread([&] { locked = std::unique_lock(mutex, std::try_to_lock).owns_lock(); }).join();
  return locked;
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

// The program's output, and what the page says about locks.

#include <algorithm>
#include <chrono>
#include <mutex>
#include <semaphore>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// What stands in a row: where the counter ends, the share of lost additions, and the time of one.
struct Row {
  long counter = -1;
  double lost = -1, ns = -1;
};

Row row_of(const test_support::Result& result, const std::string& name) {
  const std::string counter = " +(\\d+)", lost = " +(\\d+\\.\\d) %", ns = " +(\\d+\\.\\d) ns$";
  const std::string any = " +\\d+", any_lost = " +\\d+\\.\\d %", any_ns = " +\\d+\\.\\d ns$";
  const auto a = result.captures("^" + name + counter + any_lost + any_ns);
  const auto b = result.captures("^" + name + any + lost + any_ns);
  const auto c = result.captures("^" + name + any + any_lost + ns);
  EXPECT_TRUE(a.size() == 1 && b.size() == 1 && c.size() == 1) << name << "\n" << result.text();
  if (a.size() != 1 || b.size() != 1 || c.size() != 1) return {};
  return {std::stol(a[0]), std::stod(b[0]), std::stod(c[0])};
}

const std::vector<std::string> rows = {"load, then store", "with a lock", "atomic addition"};

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

TEST(lock, the_additions_take_no_longer_than_the_run) {
  constexpr double additions = 5'000'000;  // of each thread
  const auto result = run("lock", {"--additions", "5000000"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  double counted = 0;
  for (const std::string& name : rows) counted += row_of(result, name).ns * 2 * additions;
  EXPECT_LE(counted, 1.05e9 * result.seconds) << result.text();  // the costs are rounded
}

TEST(lock, the_row_with_a_lock_takes_one_for_each_addition) {
  // Without the lock the compiler makes one addition of the whole loop, and that is seldom interrupted: the counter
  // ends right all the same. But then an addition takes no time. To take a lock and give it back takes some ns on any
  // machine.
  const auto result = run("lock", {"--additions", "1000000"});
  EXPECT_GT(row_of(result, "with a lock").ns, 1.0) << result.text();
}

TEST(lock, additions_get_lost_without_it) {
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
    EXPECT_TRUE(result.has_line("ok    counter after two additions, one of them lost: 1")) << result.text();
  }
}

TEST(lock_timing, the_additions_take_most_of_the_run) {
  const auto result = run("lock", {"--additions", "5000000"});
  double counted = 0;
  for (const std::string& name : rows) counted += row_of(result, name).ns * 2 * 5'000'000;
  EXPECT_GE(counted, 0.6e9 * result.seconds) << result.text();
}

TEST(lock_timing, a_lock_around_each_addition_takes_longer_than_an_atomic_one) {
  double locked = 1e9, added = 1e9;  // the shortest of several runs, in ns per addition
  std::jthread([&] {
    cookbook::pin(0);  // on one processor, where the times differ least from run to run
    for (int i = 0; i < 5; ++i) {
      const auto result = run("lock");
      locked = std::min(locked, row_of(result, "with a lock").ns);
      added = std::min(added, row_of(result, "atomic addition").ns);
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

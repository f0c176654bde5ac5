// The program's output, and the forms from inside.

#include "02_threads/scoped_locking/forms.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

TEST(scoped_locking, eight_threads_hold_four_locks_each_in_both_forms) {
  const auto result = run("scoped_locking", {}, {.limit = 10s});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const std::vector<std::string> lines = result.lines_with(": held by ");
  std::vector<std::string> expected;
  for (const std::string name : {"mutex", "timed mutex", "recursive mutex", "semaphore"}) {
    expected.push_back(name + ": held by hand");
    expected.push_back(name + ": held by a scoped lock");
  }
  ASSERT_EQ(lines.size(), expected.size()) << result.text();
  for (std::size_t pair = 0; pair < expected.size(); pair += 2) {  // the pairs are in order, the two of a pair are not
    EXPECT_THAT((std::vector(lines.begin() + pair, lines.begin() + pair + 2)),
                testing::UnorderedElementsAre(expected[pair], expected[pair + 1]));
  }
}

TEST(scoped_locking, only_the_naive_form_leaves_the_lock_taken) {
  const auto result = run("scoped_locking", {}, {.limit = 10s});
  for (const auto& [form, free] : {std::pair{"scoped", 4}, {"by hand", 4}, {"naive", 0}}) {
    EXPECT_TRUE(result.has_line(fmt::format("ok    locks that are free after an exception, {}: {}", form, free)))
        << result.text();
  }
}

template <typename Lock>
class AnyLock : public testing::Test {};
using Locks = testing::Types<std::mutex, std::timed_mutex, std::recursive_mutex, SemaphoreLock>;
TYPED_TEST_SUITE(AnyLock, Locks);

TYPED_TEST(AnyLock, keeps_threads_apart_in_both_forms) {
  TypeParam lock;
  std::atomic<int> inside = 0, overlaps = 0;
  const auto work = [&] {
    if (++inside > 1) ++overlaps;
    std::this_thread::sleep_for(1ms);
    --inside;
  };
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 2; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5; ++i) scoped(lock, work);
      });
      threads.emplace_back([&] {
        for (int i = 0; i < 5; ++i) by_hand(lock, work);
      });
    }
  }
  EXPECT_EQ(overlaps, 0);
}

TYPED_TEST(AnyLock, waits_as_long_as_another_thread_holds_it) {
  TypeParam lock;
  std::atomic<bool> inside = false;
  lock.lock();
  std::jthread other([&] { scoped(lock, [&] { inside = true; }); });
  std::this_thread::sleep_for(250ms);  // more than the 100 ms for which SemaphoreLock waits at a time
  EXPECT_FALSE(inside);
  lock.unlock();
  other.join();
  EXPECT_TRUE(inside);
}

TYPED_TEST(AnyLock, lets_an_exception_through_and_can_be_taken_again) {
  TypeParam lock;
  const auto fail = [] { throw std::runtime_error("this work fails"); };
  EXPECT_THROW(scoped(lock, fail), std::runtime_error);
  EXPECT_THROW(by_hand(lock, fail), std::runtime_error);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

}  // namespace

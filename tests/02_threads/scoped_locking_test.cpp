// The program's output, and the forms from inside.

#include "02_threads/scoped_locking/forms.hpp"

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

TEST(scoped_locking, only_the_naive_form_leaves_the_lock_taken) {
  const auto result = run("scoped_locking", {}, {.limit = 10s});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const std::string row = " +(\\d of 4 +\\d of 4 +\\d of 4)$";
  const auto counts = [&](const std::string& way) { return result.captures("^" + way + row); };
  EXPECT_EQ(counts("the end of the block"), std::vector<std::string>{"4 of 4   4 of 4  4 of 4"}) << result.text();
  EXPECT_EQ(counts("a return"), std::vector<std::string>{"0 of 4   4 of 4  4 of 4"});
  EXPECT_EQ(counts("an exception"), std::vector<std::string>{"0 of 4   4 of 4  4 of 4"});
  EXPECT_TRUE(result.has_line("ok    after wait() another thread can take the lock: false")) << result.text();
}

template <typename Lock>
class scoped_locking_forms : public testing::Test {};
using Locks = testing::Types<std::mutex, std::timed_mutex, std::recursive_mutex, SemaphoreLock>;
TYPED_TEST_SUITE(scoped_locking_forms, Locks);

TYPED_TEST(scoped_locking_forms, keeps_threads_apart_in_both_forms) {
  TypeParam lock;
  std::atomic<int> inside = 0, overlaps = 0;
  const auto work = [&] {
    if (++inside > 1) ++overlaps;
    std::this_thread::sleep_for(1ms);
    --inside;
    return true;
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

TYPED_TEST(scoped_locking_forms, waits_as_long_as_another_thread_holds_it) {
  TypeParam lock;
  std::atomic<bool> inside = false;
  lock.lock();
  std::jthread other([&] { scoped(lock, [&] { return inside = true; }); });
  std::this_thread::sleep_for(250ms);  // more than the 100 ms for which SemaphoreLock waits at a time
  EXPECT_FALSE(inside);
  lock.unlock();
  other.join();
  EXPECT_TRUE(inside);
}

TYPED_TEST(scoped_locking_forms, lets_an_exception_through_and_can_be_taken_again) {
  TypeParam lock;
  const auto fail = []() -> bool { throw std::runtime_error("this work fails"); };
  EXPECT_THROW(scoped(lock, fail), std::runtime_error);
  EXPECT_THROW(by_hand(lock, fail), std::runtime_error);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TYPED_TEST(scoped_locking_forms, can_be_taken_again_after_a_return) {
  TypeParam lock;
  const auto stop = [] { return false; };
  scoped(lock, stop);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  by_hand(lock, stop);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

}  // namespace

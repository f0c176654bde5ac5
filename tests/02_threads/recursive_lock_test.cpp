// The program's lines, and the boxes from inside.

#include "02_threads/recursive_lock/box.hpp"

#include <algorithm>
#include <chrono>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/measure.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

TEST(recursive_lock, a_change_is_seen_half_made_only_if_add_locks_in_two_steps) {
  const auto result = run("recursive_lock");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const auto row = [&](const std::string& what) { return result.captures("^" + what + "  +(.*)$"); };
  using Row = std::vector<std::string>;
  EXPECT_EQ(row("two locks, one after the other"), Row{"half a change    half a change"}) << result.text();
  EXPECT_EQ(row("recursive mutex, locked twice"), Row{"has to wait      half a change"}) << result.text();
  EXPECT_EQ(row("plain mutex, locked once"), Row{"has to wait      is not called"}) << result.text();
  EXPECT_EQ(row("locked twice"), Row{"has to wait"}) << result.text();
  EXPECT_EQ(row("unlocked once"), Row{"has to wait"}) << result.text();
  EXPECT_EQ(row("unlocked twice"), Row{"can lock it"}) << result.text();
}

/// A box, and its numbers under its lock.
template <typename Box>
class Open : public Box {
 public:
  bool is_consistent() {
    const std::scoped_lock lock(this->mutex_);
    return this->total_ == this->additions_;
  }
  int additions() {
    const std::scoped_lock lock(this->mutex_);
    return this->additions_;
  }
};

template <typename Box>
class recursive_lock_boxes : public testing::Test {};
using Boxes = testing::Types<Open<RecursiveBox>, Open<PlainBox>>;
TYPED_TEST_SUITE(recursive_lock_boxes, Boxes);

TYPED_TEST(recursive_lock_boxes, returns_the_new_total) {
  TypeParam box;
  EXPECT_EQ(box.add(), 1);
  EXPECT_EQ(box.add(), 2);
  EXPECT_EQ(box.change(-7), -5);
  EXPECT_EQ(box.additions(), 2);
}

TYPED_TEST(recursive_lock_boxes, lets_no_other_thread_in_before_both_numbers_have_changed) {
  TypeParam box;
  int looks = 0;
  box.half_made = [&] {
    ++looks;
    EXPECT_STREQ(box.look(), "has to wait");
  };
  box.add();
  EXPECT_STREQ(box.look(), "a whole change");
  EXPECT_EQ(looks, 1);
}

TEST(recursive_lock_boxes_from_outside, change_finds_half_a_change_only_if_add_calls_it) {
  RecursiveBox recursive;
  recursive.add();
  EXPECT_STREQ(recursive.found_by_change, "half a change");
  recursive.change(0);
  EXPECT_STREQ(recursive.found_by_change, "a whole change");
  PlainBox plain;
  plain.add();
  EXPECT_STREQ(plain.found_by_change, "is not called");
  plain.change(0);
  EXPECT_STREQ(plain.found_by_change, "a whole change");
  plain.change(1);  // a correction
  EXPECT_STREQ(plain.look(), "half a change");
}

TYPED_TEST(recursive_lock_boxes, never_shows_an_addition_without_its_total) {
  TypeParam box;
  {
    const auto add_often = [&] {
      for (int i = 0; i < 20'000; ++i) box.add();
    };
    const std::jthread one(add_often), two(add_often);
    for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(box.is_consistent());
  }
  EXPECT_TRUE(box.is_consistent());
  EXPECT_EQ(box.additions(), 40'000);
}

TYPED_TEST(recursive_lock_boxes, loses_no_change_whichever_methods_the_threads_use) {
  constexpr int rounds = 100'000;
  TypeParam box;
  const auto often = [&](auto method) {
    return std::jthread([=, &box] {
      for (int i = 0; i < rounds; ++i) cookbook::do_not_optimize(method(box));
    });
  };
  {
    const std::jthread adding = often([](TypeParam& b) { return b.add(); });
    const std::jthread adding_too = often([](TypeParam& b) { return b.add(); });
    const std::jthread adding_three = often([](TypeParam& b) { return b.change(+3); });
    const std::jthread removing_one = often([](TypeParam& b) { return b.change(-1); });
  }
  EXPECT_EQ(box.change(0), 4 * rounds);
  EXPECT_EQ(box.additions(), 2 * rounds);
}

TYPED_TEST(recursive_lock_boxes, gives_each_thread_a_total_of_its_own) {
  constexpr int rounds = 20'000;
  TypeParam box;
  std::vector<int> totals[2];
  {
    std::vector<std::jthread> threads;
    for (std::vector<int>& seen : totals) {
      threads.emplace_back([&] {
        for (int i = 0; i < rounds; ++i) seen.push_back(box.add());
      });
    }
  }
  std::vector<int> all = totals[0];
  all.insert(all.end(), totals[1].begin(), totals[1].end());
  std::sort(all.begin(), all.end());
  for (int i = 0; i < 2 * rounds; ++i) ASSERT_EQ(all[i], i + 1);
}

TEST(recursive_lock_two_steps, lose_no_change_although_one_can_be_seen_half_made) {
  Open<TwoStepBox> box;
  {
    const auto add_often = [&] {
      for (int i = 0; i < 200'000; ++i) box.add();
    };
    const std::jthread one(add_often), two(add_often);
  }
  EXPECT_TRUE(box.is_consistent());
  EXPECT_EQ(box.change(0), 400'000);
  int half = 0;
  box.half_made = [&] { half += box.look() == std::string("half a change"); };
  box.add();
  EXPECT_EQ(half, 1);
  EXPECT_STREQ(box.look(), "a whole change");
}

/// Whether another thread than the caller can lock the mutex now; if so, it unlocks it again.
bool another_can_lock(std::recursive_mutex& mutex) {
  bool locked = false;
  std::jthread([&] { locked = std::unique_lock(mutex, std::try_to_lock).owns_lock(); }).join();
  return locked;
}

TEST(recursive_lock_mutex, needs_as_many_unlocks_as_locks) {
  for (const int depth : {1, 2, 50}) {
    std::recursive_mutex mutex;
    for (int i = 0; i < depth; ++i) EXPECT_TRUE(mutex.try_lock());
    for (int i = 0; i < depth; ++i) {
      EXPECT_FALSE(another_can_lock(mutex)) << "after " << i << " unlocks of " << depth;
      mutex.unlock();
    }
    EXPECT_TRUE(another_can_lock(mutex));
  }
}

TEST(recursive_lock_mutex, differs_from_a_lock_that_its_holder_cannot_take_again) {
  // A semaphore of 1, as the standard forbids a thread even to try a std::timed_mutex that it holds.
  std::binary_semaphore plain(1);
  plain.acquire();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(plain.try_acquire_for(20ms));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
}

}  // namespace

// The program's lines, and the boxes from inside.

#include "02_threads/recursive_lock/box.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

TEST(recursive_lock, an_addition_is_lost_only_if_add_locks_in_two_steps) {
  const auto result = run("recursive_lock");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const auto row = [&](const std::string& what) { return result.captures("^" + what + "  +(.*)$"); };
  using Row = std::vector<std::string>;
  EXPECT_EQ(row("two steps with a lock each"), Row{"adds one, too                1"}) << result.text();
  EXPECT_EQ(row("recursive mutex, locked again"), Row{"has to wait                  2"}) << result.text();
  EXPECT_EQ(row("plain mutex, locked once"), Row{"has to wait                  2"}) << result.text();
  EXPECT_EQ(row("locked twice"), Row{"has to wait"}) << result.text();
  EXPECT_EQ(row("unlocked once"), Row{"has to wait"}) << result.text();
  EXPECT_EQ(row("unlocked twice"), Row{"can lock it"}) << result.text();
}

template <typename Box>
class recursive_lock_boxes : public testing::Test {};
using Boxes = testing::Types<RecursiveBox, PlainBox>;
TYPED_TEST_SUITE(recursive_lock_boxes, Boxes);

template <typename Box>
class recursive_lock_all_boxes : public testing::Test {};
using AllBoxes = testing::Types<TwoStepBox, RecursiveBox, PlainBox>;
TYPED_TEST_SUITE(recursive_lock_all_boxes, AllBoxes);

TYPED_TEST(recursive_lock_all_boxes, hold_what_was_set_and_added) {
  TypeParam box;
  EXPECT_EQ(box.items(), 0);
  box.add(3);
  EXPECT_EQ(box.items(), 3);
  box.set(10);
  box.add(-4);
  EXPECT_EQ(box.items(), 6);
  box.set(0);
  EXPECT_EQ(box.items(), 0);
}

TYPED_TEST(recursive_lock_all_boxes, refuse_a_number_below_0_and_are_free_afterwards) {
  TypeParam box;
  box.set(2);
  EXPECT_THROW(box.set(-1), std::invalid_argument);
  EXPECT_TRUE(box.is_free());
  EXPECT_THROW(box.add(-3), std::invalid_argument);
  EXPECT_TRUE(box.is_free());
  EXPECT_EQ(box.items(), 2);
}

TYPED_TEST(recursive_lock_boxes, let_no_other_thread_between_the_two_steps_of_add) {
  TypeParam box;
  int calls = 0;
  box.add(1, [&] {
    ++calls;
    EXPECT_FALSE(box.is_free());
  });
  EXPECT_TRUE(box.is_free());
  EXPECT_EQ(calls, 1);
}

TEST(recursive_lock_two_steps, leave_the_box_free_between_them) {
  TwoStepBox box;
  bool was_free = false;
  box.add(1, [&] {
    was_free = box.is_free();
    box.set(7);
  });
  EXPECT_TRUE(was_free);
  EXPECT_EQ(box.items(), 1) << "what was set meanwhile is overwritten";
}

TYPED_TEST(recursive_lock_boxes, lose_no_addition) {
  constexpr int rounds = 100'000;
  TypeParam box;
  {
    const auto add_often = [&](int number) {
      return std::jthread([&box, number] {
        for (int i = 0; i < rounds; ++i) box.add(number);
      });
    };
    const std::jthread one = add_often(1), two = add_often(1), three = add_often(3);
  }
  EXPECT_EQ(box.items(), 5 * rounds);
}

/// While the box is in the middle of add(), other threads want to read it and to set it: both have to wait.
TYPED_TEST(recursive_lock_boxes, make_items_and_set_wait_in_the_middle_of_add) {
  TypeParam box;
  std::atomic<int> seen = -1;
  std::atomic<bool> has_set = false;
  {
    std::jthread reading, setting;
    box.add(5, [&] {
      reading = std::jthread([&] { seen = box.items(); });
      std::this_thread::sleep_for(50ms);
      EXPECT_EQ(seen, -1);
    });
    reading.join();
    EXPECT_EQ(seen, 5);
    box.add(1, [&] {
      setting = std::jthread([&] {
        box.set(20);
        has_set = true;
      });
      std::this_thread::sleep_for(50ms);
      EXPECT_FALSE(has_set);
    });
  }
  EXPECT_EQ(box.items(), 20) << "what is set while another thread adds counts afterwards";
}

TEST(recursive_lock_boxes_of_one_thread, a_recursive_box_lets_its_own_thread_come_between) {
  RecursiveBox box;
  box.add(1, [&] { box.add(1); });
  EXPECT_EQ(box.items(), 1);
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

TEST(recursive_lock_mutex, is_unlocked_again_by_the_thread_that_looks) {
  std::mutex plain;
  for (int look = 0; look < 3; ++look) EXPECT_TRUE(another_can_lock(plain));
  std::recursive_mutex recursive;
  for (int look = 0; look < 3; ++look) EXPECT_TRUE(another_can_lock(recursive));
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

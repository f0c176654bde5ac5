// The program's lines, and the boxes from inside.

#include "02_threads/recursive_lock/box.hpp"
#include "02_threads/recursive_lock/error_checking_mutex.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "another_can_lock.hpp"
#include "cookbook/affinity.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

TEST(recursive_lock, additions_are_lost_only_if_add_locks_for_each_step) {
  std::string seen;
  bool lost_some = false;
  for (int tries = 0; tries < 5 && !lost_some; ++tries) {  // two threads that take turns by luck lose nothing
    const auto result = run("recursive_lock", {}, {.limit = 60s});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto row = [&](const std::string& what) { return result.captures("^" + what + "  +(.*)$"); };
    const auto lost = [&](const std::string& what) {
      const auto percent = result.captures("^" + what + "  +([0-9]+\\.[0-9]) %  +[0-9]+ ns$");
      return percent.size() == 1 ? std::stod(percent[0]) : -1;
    };
    EXPECT_EQ(row("error-checking mutex, locked again"), std::vector<std::string>{"refused: EDEADLK"}) << result.text();
    EXPECT_EQ(row("recursive mutex, inside update\\(\\)"), std::vector<std::string>{"1 of 2"}) << result.text();
    EXPECT_EQ(lost("recursive mutex, locked again"), 0) << result.text();
    EXPECT_EQ(lost("plain mutex, locked once"), 0) << result.text();
    lost_some = lost("plain mutex, locked for each step") > 0;
    seen = result.text();
  }
  EXPECT_TRUE(lost_some || cookbook::allowed_processors() == 1) << seen;
}

TEST(recursive_lock, is_free_after_as_many_unlocks_as_locks) {
  for (const int times : {1, 2, 5}) {
    const auto result = run("recursive_lock", {"--times", std::to_string(times)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    std::vector<std::string> wanted(times, "has to wait");  // after the locks, and after all unlocks but the last
    wanted.push_back("can lock it");
    EXPECT_EQ(result.captures("^(?:un)?locked, times: \\d+  +(\\S.*)$"), wanted) << result.text();
  }
  const auto spoiled = run("recursive_lock", {"--times", "2"}, {.environment = {{"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(spoiled.exit_code, 1) << spoiled.text();
}

/// What another thread does, once, as soon as it can lock a watched mutex.
std::function<void()> other_thread;

/// A mutex that after each unlock lets the other thread come, if the mutex is then free.
template <typename Mutex>
class Watched {
 public:
  void lock() { mutex_.lock(); }
  void unlock() {
    mutex_.unlock();
    if (other_thread && another_can_lock(mutex_)) std::jthread(std::exchange(other_thread, nullptr)).join();
  }

 private:
  Mutex mutex_;
};

using Recursive = NestedBox<std::recursive_mutex>;

template <typename Box>
class recursive_lock_boxes : public testing::Test {};
using Boxes = testing::Types<Recursive, PlainBox<std::mutex>>;
TYPED_TEST_SUITE(recursive_lock_boxes, Boxes);

template <typename Box>
class recursive_lock_all_boxes : public testing::Test {};
using AllBoxes = testing::Types<StepwiseBox<std::mutex>, Recursive, PlainBox<std::mutex>>;
TYPED_TEST_SUITE(recursive_lock_all_boxes, AllBoxes);

/// Calls `work` in another thread, and says whether it has returned within 10 seconds.
bool another_thread_can(std::function<void()> work) {
  auto done = std::make_shared<std::promise<void>>();
  auto future = done->get_future();
  std::thread([work = std::move(work), done] {
    work();
    done->set_value();
  }).detach();
  return future.wait_for(10s) == std::future_status::ready;
}

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
  ASSERT_TRUE(another_thread_can([&] { box.items(); }));
  EXPECT_THROW(box.add(-3), std::invalid_argument);
  ASSERT_TRUE(another_thread_can([&] { box.items(); }));
  EXPECT_EQ(box.items(), 2);
}

/// What another thread finds that looks at the box as soon as it can lock it, while this one calls `change`.
template <typename Box, typename Change>
int found_by_another(Box& box, Change change) {
  int found = -1;
  other_thread = [&] { found = box.items(); };
  change();
  EXPECT_FALSE(other_thread) << "it has not come";
  return found;
}

TEST(recursive_lock_watched, another_thread_comes_only_after_both_steps_if_add_locks) {
  NestedBox<Watched<std::recursive_mutex>> nested;
  EXPECT_EQ(found_by_another(nested, [&] { nested.add(5); }), 5);
  EXPECT_EQ(found_by_another(nested, [&] { nested.set(8); }), 8);
  EXPECT_EQ(found_by_another(nested, [&] { nested.update([](int before) { return before + 1; }); }), 9);
  PlainBox<Watched<std::mutex>> plain;
  EXPECT_EQ(found_by_another(plain, [&] { plain.add(5); }), 5);
  EXPECT_EQ(found_by_another(plain, [&] { plain.set(8); }), 8);
  EXPECT_EQ(found_by_another(plain, [&] { plain.update([](int before) { return before + 1; }); }), 9);
}

TEST(recursive_lock_watched, what_is_set_between_the_two_steps_is_overwritten) {
  StepwiseBox<Watched<std::mutex>> box;
  int found = -1;
  other_thread = [&] {
    found = box.items();
    box.set(7);
  };
  box.add(1);
  EXPECT_EQ(found, 0);
  EXPECT_EQ(box.items(), 1);
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

/// While the box is in the middle of update(), other threads want to read it and to set it: both have to wait.
TEST(recursive_lock_update, makes_other_threads_wait) {
  Recursive box;
  std::atomic<int> seen = -1;
  std::atomic<bool> has_set = false;
  {
    std::jthread reading, setting;
    box.update([&](int before) {
      reading = std::jthread([&] { seen = box.items(); });
      std::this_thread::sleep_for(50ms);
      EXPECT_EQ(seen, -1);
      return before + 5;
    });
    reading.join();
    EXPECT_EQ(seen, 5);
    box.update([&](int before) {
      setting = std::jthread([&] {
        box.set(20);
        has_set = true;
      });
      std::this_thread::sleep_for(50ms);
      EXPECT_FALSE(has_set);
      return before + 1;
    });
  }
  EXPECT_EQ(box.items(), 20) << "what is set while another thread updates counts afterwards";
}

TEST(recursive_lock_update, lets_its_own_thread_come_between) {
  Recursive box;
  box.update([&](int before) {
    box.add(1);
    return before + 1;
  });
  EXPECT_EQ(box.items(), 1);
  EXPECT_THROW(box.update([](int) { return -1; }), std::invalid_argument);
  EXPECT_EQ(box.items(), 1);
  ASSERT_TRUE(another_thread_can([&] { box.items(); }));
}

TEST(recursive_lock_error_checking, a_second_lock_is_refused_and_the_first_one_stays) {
  ErrorCheckingMutex mutex;
  for (int round = 0; round < 2; ++round) {
    mutex.lock();
    try {
      mutex.lock();
      ADD_FAILURE() << "locked twice";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::resource_deadlock_would_occur);
    }
    mutex.unlock();
  }
}

TEST(recursive_lock_error_checking, only_a_method_that_locks_again_fails) {
  NestedBox<ErrorCheckingMutex> nested;
  nested.set(2);
  EXPECT_EQ(nested.items(), 2);
  EXPECT_THROW(nested.add(1), std::system_error);
  EXPECT_EQ(nested.items(), 2);
  PlainBox<ErrorCheckingMutex> plain;
  plain.set(2);
  plain.add(1);
  EXPECT_EQ(plain.items(), 3);
  const auto add = [&](int before) {
    plain.add(1);
    return before + 1;
  };
  EXPECT_THROW(plain.update(add), std::system_error) << "with a plain mutex an add() inside update() is a deadlock";
  EXPECT_EQ(plain.items(), 3);
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

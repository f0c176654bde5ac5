// The program's output, its waits, and InterpreterLock from inside. Nothing here depends on how fast anything is: the
// times at which the lock changes hands are handed to checkpoint().

#include "02_threads/interpreter_lock/interpreter_lock.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

namespace {

/// Notes when it was asked for first, how often it was given up for how long, and how many checkpoints there were.
class NotedLock : public InterpreterLock {
 public:
  void lock() {
    std::this_thread::sleep_for(delay);
    if (of_another != nullptr) after_another = after_another.value_or(of_another->was_locked.load());
    InterpreterLock::lock();
    was_locked = true;
  }

  template <typename Call>
  void allow_threads(Call call) {
    ++calls;
    InterpreterLock::allow_threads([&] {
      const auto begin = Clock::now();
      call();
      shortest_call = std::min(shortest_call, Clock::now() - begin);
    });
  }

  void checkpoint() {
    ++checkpoints;
    InterpreterLock::checkpoint();
  }

  std::chrono::milliseconds delay{0};   ///< before the lock is taken
  NotedLock* of_another = nullptr;      ///< if there is one, it is noted whether that one had been locked before
  std::optional<bool> after_another{};  ///< nothing if this one was never locked
  std::atomic<bool> was_locked = false;
  int calls = 0, checkpoints = 0;
  Clock::duration shortest_call = Clock::duration::max();
};

}  // namespace

#define main main_of_the_program  // to call its functions
#define InterpreterLock NotedLock
#include "02_threads/interpreter_lock/interpreter_lock.cpp"
#undef InterpreterLock
#undef main

#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/affinity.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

void until_waiting(const InterpreterLock& gil, long threads) {
  while (gil.waiting() < threads) std::this_thread::yield();
}

TEST(interpreter_lock, threads_wait_in_turn_if_they_keep_the_lock_and_at_once_if_they_give_it_up) {
  for (const std::string threads : {"2", "5"}) {
    const auto result = run("interpreter_lock", {"--threads", threads}, {.limit = 60s});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    for (const std::string line : {"threads that keep the lock wait one after another: yes",
                                   "threads that give it up wait at the same time: yes",
                                   "threads that have a lock each wait at the same time: yes"}) {
      EXPECT_TRUE(result.has_line("ok    " + line)) << line << result.text();
    }
  }
}

TEST(interpreter_lock, a_computation_has_checkpoints_under_the_lock_or_gives_it_up) {
  NotedLock keeps, gives_up;
  {
    const std::scoped_lock hold(keeps);
    compute(keeps);
  }
  EXPECT_EQ(keeps.checkpoints, 200);
  EXPECT_EQ(keeps.calls, 0);
  const std::scoped_lock hold(gives_up);
  compute_without_lock(gives_up);
  EXPECT_EQ(gives_up.checkpoints, 0);
  EXPECT_EQ(gives_up.calls, 1);
  EXPECT_GT(gives_up.shortest_call, 1ms) << "it computes meanwhile";
}

TEST(interpreter_lock, the_program_counts_the_threads_that_wait_at_the_same_time) {
  most_at_once = 0;
  for (int i = 0; i < 2; ++i) std::jthread([] { wait_for_reply(1ms); }).join();
  EXPECT_EQ(most_at_once, 1);
  {
    std::jthread one([] { wait_for_reply(500ms); });
    while (waiting_now < 1) std::this_thread::yield();
    wait_for_reply(1ms);
  }
  EXPECT_EQ(most_at_once, 2);
  EXPECT_EQ(waiting_now, 0);
}

TEST(interpreter_lock, under_the_real_lock_the_page_is_right_too) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  const std::filesystem::path root = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  const auto result =
      run("/usr/bin/python3", {root / "chapters/02_threads/interpreter_lock/real_lock.py"}, {.limit = 60s});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("^(\\d thread.*): \\d+ [mn]s if it keeps the lock, \\d+ [mn]s if it gives it up$"),
            (std::vector<std::string>{"4 threads, strspn", "4 threads, usleep", "1 thread, abs"}))
      << result.text();
  const auto times = result.captures("usleep: (\\d+) ms"), given_up = result.captures("usleep: .* (\\d+) ms if");
  const auto replies = result.captures("^10 replies of 1 ms while another thread computes: (\\d+) ms$");
  const auto lost = result.captures("^counter .* in 2 threads: (\\d+) % of the additions were lost$");
  ASSERT_TRUE(times.size() == 1 && given_up.size() == 1 && replies.size() == 1 && lost.size() == 1) << result.text();
  EXPECT_GE(std::stoi(replies[0]), 30);  // after each reply it waits up to 5 ms for the other thread
  EXPECT_LE(std::stoi(lost[0]), 50);
  EXPECT_GE(std::stoi(times[0]), 80);  // a build without the lock would have 20 here
  EXPECT_GE(std::stoi(given_up[0]), 20);
  EXPECT_LT(std::stoi(given_up[0]), std::stoi(times[0]));
}

TEST(interpreter_lock, waiting_takes_as_long_as_the_server_does_and_in_turn_if_the_lock_is_kept) {
  const auto result = run("interpreter_lock", {"--threads", "3"}, {.limit = 60s});
  const auto times = [&](const std::string& row) {
    const auto for_all = result.captures("^" + row + " +(\\d+) ms +\\d+ ms$"),
               each = result.captures("^" + row + " .* (\\d+) ms$");
    EXPECT_EQ(for_all.size(), 1U) << row << result.text();
    return for_all.size() == 1 && each.size() == 1 ? std::pair(std::stoi(for_all[0]), std::stoi(each[0]))
                                                   : std::pair(-1, -1);
  };
  times("1 thread computes");
  times("3 threads compute, keep the lock");
  times("3 threads compute, give it up");
  EXPECT_GE(times("3 threads wait 20 ms, keep the lock").first, 60);
  EXPECT_GE(times("3 threads wait 20 ms, keep the lock").second, 20);
  EXPECT_GE(times("3 threads wait 20 ms, give it up").first, 20);
  EXPECT_GE(times("3 threads wait 20 ms, give it up").second, 20);
  EXPECT_GE(times("1 thread waits 10 x 1 ms, 1 computes").second, 10);
  // After each reply of 1 ms it waits 5 ms for the other thread; half of the times, if that one was interrupted now and
  // then before it asked for its next turn.
  EXPECT_GE(times("1 thread waits 10 x 1 ms, 1 computes").first, 30);
}

TEST(interpreter_lock, ten_replies_of_a_millisecond_are_waited_for_while_another_thread_computes) {
  auto shortest = InterpreterLock::Clock::duration::max();
  for (int round = 0; round < 5; ++round) {
    NotedLock mine, of_the_other;
    of_the_other.delay = 20ms;
    mine.of_another = &of_the_other;
    const double ms = ten_replies(mine, of_the_other);
    EXPECT_EQ(mine.after_another, true) << "the waits began before the other thread";
    EXPECT_EQ(mine.calls, 10);
    EXPECT_EQ(of_the_other.calls, 0);
    EXPECT_GE(mine.shortest_call, 1ms);
    EXPECT_GE(ms, 10);
    shortest = std::min(shortest, mine.shortest_call);
  }
  EXPECT_LT(shortest, 10ms);  // the shortest of fifty
}

TEST(interpreter_lock_class, threads_get_it_in_the_order_in_which_they_ask) {
  InterpreterLock gil;
  std::vector<int> order;
  std::vector<std::jthread> threads;
  gil.lock();
  EXPECT_EQ(gil.waiting(), 0);
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      const std::scoped_lock hold(gil);
      order.push_back(i);
    });
    until_waiting(gil, i + 1);
  }
  EXPECT_TRUE(order.empty());
  gil.unlock();
  threads.clear();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(gil.waiting(), 0);
}

TEST(interpreter_lock_class, no_switch_before_another_thread_has_waited_5_ms_and_one_after) {
  InterpreterLock gil;
  bool other_was_in = false;  // protected by the lock
  gil.lock();
  std::this_thread::sleep_for(2ms);  // nobody waits yet
  const auto before = InterpreterLock::Clock::now();
  std::jthread other([&] {
    const std::scoped_lock hold(gil);
    other_was_in = true;
  });
  until_waiting(gil, 1);
  const auto after = InterpreterLock::Clock::now();
  gil.checkpoint(before + 5ms - 1ns);
  EXPECT_EQ(gil.waiting(), 1);
  EXPECT_FALSE(other_was_in);
  gil.checkpoint(after + 5ms);
  EXPECT_TRUE(other_was_in);
  gil.unlock();
}

TEST(interpreter_lock_class, a_second_thread_that_waits_does_not_begin_the_5_ms_anew) {
  InterpreterLock gil;
  std::vector<int> order;  // protected by the lock
  gil.lock();
  std::jthread second([&] {
    const std::scoped_lock hold(gil);
    order.push_back(2);
  });
  until_waiting(gil, 1);
  const auto after = InterpreterLock::Clock::now();
  std::this_thread::sleep_for(2ms);
  std::jthread third([&] {
    const std::scoped_lock hold(gil);
    order.push_back(3);
  });
  until_waiting(gil, 2);
  gil.checkpoint(after + 5ms);
  EXPECT_EQ(order, (std::vector<int>{2, 3}));
  gil.unlock();
}

TEST(interpreter_lock_class, the_5_ms_begin_anew_with_every_turn) {
  InterpreterLock gil;
  InterpreterLock::Clock::time_point second_was_in;  // protected by the lock
  bool third_was_in = false;                         // protected by the lock
  gil.lock();
  std::jthread second([&] {
    const std::scoped_lock hold(gil);
    until_waiting(gil, 2);  // the third one, and the main thread again
    std::this_thread::sleep_for(2ms);
    second_was_in = InterpreterLock::Clock::now();
  });
  until_waiting(gil, 1);
  std::jthread third([&] {
    const std::scoped_lock hold(gil);
    gil.checkpoint(second_was_in + 5ms);  // the main thread has waited longer, but for this one less than 5 ms
    third_was_in = true;
  });
  until_waiting(gil, 2);
  gil.checkpoint(InterpreterLock::Clock::now() + 5ms);
  EXPECT_TRUE(third_was_in);
  gil.unlock();
}

TEST(interpreter_lock_class, a_thread_keeps_it_while_nobody_waits) {
  InterpreterLock gil;
  const std::scoped_lock hold(gil);
  gil.checkpoint(InterpreterLock::Clock::now() + 1h);
  EXPECT_EQ(gil.waiting(), 0);
}

TEST(interpreter_lock_class, another_thread_runs_while_one_waits_outside) {
  InterpreterLock gil;
  bool other_was_in = false;
  gil.lock();
  gil.allow_threads([&] {
    std::jthread other([&] {
      const std::scoped_lock hold(gil);
      other_was_in = true;
    });
  });
  EXPECT_TRUE(other_was_in);

  std::jthread other([&] { const std::scoped_lock hold(gil); });
  until_waiting(gil, 1);  // so this thread has the lock again
  gil.unlock();
}

TEST(interpreter_lock_class, what_the_call_returns_comes_back) {
  InterpreterLock gil;
  const std::scoped_lock hold(gil);
  EXPECT_EQ(*gil.allow_threads([] { return std::make_unique<int>(7); }), 7);
  int value = 0;
  gil.allow_threads([&]() -> int& { return value; }) = 8;
  EXPECT_EQ(value, 8);
}

TEST(interpreter_lock_class, after_a_call_that_throws_the_lock_is_held_once) {
  InterpreterLock gil;
  gil.lock();
  EXPECT_THROW(gil.allow_threads([] { throw std::runtime_error("no reply"); }), std::runtime_error);
  std::atomic<int> were_in = 0;
  std::jthread one([&] {
    const std::scoped_lock hold(gil);
    ++were_in;
  });
  std::jthread other([&] {
    const std::scoped_lock hold(gil);
    ++were_in;
  });
  until_waiting(gil, 2);  // it is held,
  EXPECT_EQ(were_in, 0);
  gil.unlock();  // and one unlock is enough
  one.join();
  other.join();
  EXPECT_EQ(were_in, 2);
}

TEST(interpreter_lock_class, an_exception_that_ends_the_work_gives_the_lock_back) {
  InterpreterLock gil;
  const auto work = [&] {
    const std::scoped_lock hold(gil);
    gil.allow_threads([] { throw std::runtime_error("no reply"); });
  };
  EXPECT_THROW(work(), std::runtime_error);
  std::jthread([&] { const std::scoped_lock hold(gil); }).join();
}

TEST(interpreter_lock_class, nothing_that_it_protects_is_changed_by_two_threads_at_once) {
  InterpreterLock gil;
  long sum = 0, inside = 0;
  bool alone = true;
  std::vector<std::jthread> threads;
  gil.lock();
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const std::scoped_lock hold(gil);
      for (int i = 0; i < 1000; ++i) {
        alone = alone && inside++ == 0;
        ++sum;
        --inside;
        gil.checkpoint(InterpreterLock::Clock::now() + 5ms);  // hands over whenever another one waits
        if (i % 100 == 0) gil.allow_threads([] {});
      }
    });
  }
  until_waiting(gil, 4);
  gil.unlock();
  threads.clear();
  EXPECT_EQ(sum, 4000);
  EXPECT_TRUE(alone);
}

TEST(interpreter_lock_timing, threads_gain_by_waiting_and_without_the_lock_by_computing) {
  const auto result = run("interpreter_lock", {"--threads", "8"});
  const auto times = [&](const std::string& row) {
    return std::pair(result.captures("^" + row + " +(\\d+) ms"), result.captures("^" + row + " .* (\\d+) ms$"));
  };
  const auto [one_for_all, one_each] = times("1 thread computes");
  const auto [all_for_all, all_each] = times("8 threads compute, keep the lock");
  const auto [free_for_all, free_each] = times("8 threads compute, give it up");
  const auto [wait_for_all, wait_each] = times("8 threads wait 20 ms, give it up");
  const auto [ten_for_all, ten_each] = times("1 thread waits 10 x 1 ms, 1 computes");
  ASSERT_EQ(one_for_all.size() + all_for_all.size() + all_each.size() + free_for_all.size() + wait_for_all.size() +
                ten_for_all.size(),
            6U)
      << result.text();
  EXPECT_GT(std::stod(all_for_all[0]), 6 * std::stod(one_for_all[0])) << result.text();
  if (cookbook::allowed_processors() > 1) {
    EXPECT_LT(std::stod(all_each[0]), 0.8 * std::stod(all_for_all[0])) << result.text();
    EXPECT_LT(std::stod(free_for_all[0]), 0.8 * std::stod(all_for_all[0])) << result.text();
  }
  EXPECT_LT(std::stod(wait_for_all[0]), 8 * 20 / 4) << result.text();
  EXPECT_GT(std::stod(ten_for_all[0]), 50) << result.text();  // ten replies of 1 ms, and 5 ms for the lock after each
}

}  // namespace

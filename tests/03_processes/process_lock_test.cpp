// The program's output, how it waits for its children, and the primitives of Boost.Interprocess that the page names.

#define main main_of_the_program  // its functions are tested from inside, too
#include "03_processes/process_lock/process_lock.cpp"
#undef main

#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <boost/interprocess/sync/interprocess_condition.hpp>
#include <boost/interprocess/sync/interprocess_mutex.hpp>
#include <boost/interprocess/sync/interprocess_recursive_mutex.hpp>
#include <boost/interprocess/sync/interprocess_semaphore.hpp>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using Mutex = boost::interprocess::interprocess_mutex;
using Condition = boost::interprocess::interprocess_condition;
using Semaphore = boost::interprocess::interprocess_semaphore;
using test_support::Result;
using test_support::run;

/// What a row says: how many processes are done, aborted and asleep, how many changes are lost, and the cost of one.
std::vector<std::string> row(const Result& result, const std::string& name) {
  std::vector<std::string> values;
  std::string before = "^" + name + " +";
  for (int column = 0; column < 4; ++column, before += "\\d+ +") {
    const auto found = result.captures(before + (column < 3 ? "(\\d+) " : "(\\d+|-) "));
    EXPECT_EQ(found.size(), 1U) << name << '\n' << result.text();
    values.push_back(found.empty() ? "" : found[0]);
  }
  const auto cost = result.captures("^" + name + " .* (\\d+\\.\\d ns|-)$");
  values.push_back(cost.size() == 1 ? cost[0] : "none");
  return values;
}

TEST(process_lock, the_lock_for_processes_loses_nothing_whatever_their_number) {
  for (const int processes : {1, 4, 32}) {
    const auto result = run("process_lock", {"--processes", std::to_string(processes), "--changes", "5000"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string all = std::to_string(processes);
    const auto right = row(result, "interprocess_mutex in shared memory");
    EXPECT_THAT(right, testing::ElementsAre(all, "0", "0", "0", testing::EndsWith(" ns")));
    for (const std::string name : {"no lock", "std::mutex in ordinary memory", "interprocess_mutex in ordinary memory",
                                   "std::mutex in shared memory"}) {
      const auto values = row(result, name);
      EXPECT_EQ(std::stoi(values[0]) + std::stoi(values[1]) + std::stoi(values[2]), processes);
      EXPECT_EQ(values[4] == "-", values[0] != all) << "no cost is printed where a process was killed";
      EXPECT_EQ(values[3] == "-", values[0] != all) << "nor are changes counted that nobody has made";
      if (values[3] != "-") {
        EXPECT_LE(std::stol(values[3]), 5'000L * (processes - 1));
      }
    }
    EXPECT_TRUE(result.has_line("ok    changes lost with the interprocess_mutex in shared memory: 0")) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST(process_lock, the_costs_add_up_to_no_more_than_the_run) {
  constexpr double changes = 4'000'000;
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("process_lock");
  const std::chrono::duration<double, std::nano> ns = std::chrono::steady_clock::now() - start;
  double counted = 0;
  for (const std::string& cost : result.captures("(\\d+\\.\\d) ns$")) counted += std::stod(cost) * changes;
  EXPECT_GT(counted, 0);
  EXPECT_LE(counted, ns.count()) << result.text();
}

TEST(process_lock, without_a_lock_and_with_copies_of_one_changes_get_lost) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor";
  std::set<std::string> not_seen = {"no lock", "std::mutex in ordinary memory",
                                    "interprocess_mutex in ordinary memory"};
  for (int attempt = 0; attempt < 20 && !not_seen.empty(); ++attempt) {
    const auto result = run("process_lock");
    for (const std::string name :
         {"no lock", "std::mutex in ordinary memory", "interprocess_mutex in ordinary memory"}) {
      const auto values = row(result, name);
      EXPECT_EQ(values[0], "4") << "nobody sleeps";
      if (values[3] != "0") not_seen.erase(name);
    }
  }
  EXPECT_THAT(not_seen, testing::IsEmpty());
}

TEST(process_lock, each_row_has_the_lock_that_it_names_the_one_for_processes_costs_more) {
  std::string seen;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto result = run("process_lock", {"--processes", "1"});
    std::vector<double> ns;
    for (const std::string& cost : result.captures(" (\\d+\\.\\d) ns$")) ns.push_back(std::stod(cost));
    ASSERT_EQ(ns.size(), 5U) << result.text();
    if (std::max({ns[0], ns[1], ns[3]}) * 1.3 < std::min(ns[2], ns[4])) return;
    seen = result.text();
  }
  FAIL() << "a std::mutex never cost less than an interprocess_mutex\n" << seen;
}

TEST(process_lock, with_a_lock_for_threads_processes_sleep_for_ever) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor";
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto values = row(run("process_lock"), "std::mutex in shared memory");
    if (values[2] == "0") continue;
    EXPECT_EQ(values[3], "-") << "changes that were not made are not lost";
    return;
  }
  FAIL() << "all were woken, in 20 runs";
}

TEST(process_lock, killed_or_interrupted_it_leaves_nothing_behind) {
  for (const test_support::RunOptions& setting :
       {test_support::RunOptions{.interrupt_after_ms = 100}, test_support::RunOptions{.kill_after_ms = 100}}) {
    const auto result = run("process_lock", {"--changes", "10000000"}, setting);
    EXPECT_EQ(result.exit_code, setting.kill_after_ms > 0 ? -9 : -2) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

std::atomic<int>* asked_to_end = nullptr;  // in shared memory

TEST(process_lock_ends, those_that_sleep_for_ever_are_killed_and_joined_and_the_others_are_counted_by_their_ends) {
  const Shared<Board> board;
  const Shared<std::atomic<int>> asked(0);
  asked_to_end = &*asked;
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(cookbook::start_child([] {
      for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, [](int) { ++*asked_to_end, _exit(0); });
      pause();
    }));
  }
  children.push_back(cookbook::start_child([] {}));
  children.push_back(cookbook::start_child([] { raise(SIGKILL); }));
  const Ends ends = ends_of(children, board->counter);
  EXPECT_EQ(ends.asleep, 3);
  EXPECT_EQ(ends.good, 1);
  EXPECT_EQ(ends.aborted, 1);
  EXPECT_EQ(*asked, 0) << "a process may ignore such a signal, and would never be joined";
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST(process_lock_ends, one_that_sleeps_again_and_again_and_makes_progress_is_not_killed) {
  const Shared<Board> board;
  const Ends ends = ends_of({cookbook::start_child([&] {
                              for (int i = 0; i < 100; ++i, ++board->counter) std::this_thread::sleep_for(1ms);
                            })},
                            board->counter);
  EXPECT_EQ(ends.good, 1);
  EXPECT_EQ(board->counter, 100);
}

TEST(process_lock_primitives, a_recursive_lock_is_free_when_given_back_as_often_as_taken) {
  const Shared<boost::interprocess::interprocess_recursive_mutex> mutex;
  const auto another_gets_it = [&] {
    return cookbook::exit_code_of(cookbook::start_child([&] { return mutex->try_lock() ? 1 : 0; }));
  };
  mutex->lock();
  mutex->lock();
  EXPECT_EQ(another_gets_it(), 0);
  mutex->unlock();
  EXPECT_EQ(another_gets_it(), 0);
  mutex->unlock();
  EXPECT_EQ(another_gets_it(), 1);
}

TEST(process_lock_primitives, a_semaphore_lets_no_more_processes_in_than_it_has_permits) {
  constexpr int children = 8, permits = 2;
  struct Room {
    Semaphore permit{permits};
    std::atomic<int> inside = 0, most = 0;
  };
  const Shared<Room> room;
  std::vector<pid_t> visitors;
  for (int i = 0; i < children; ++i) {
    visitors.push_back(cookbook::start_child([&] {
      room->permit.wait();
      const int inside = ++room->inside;
      for (int most = room->most; most < inside && !room->most.compare_exchange_weak(most, inside);) continue;
      std::this_thread::sleep_for(1ms);
      --room->inside;
      room->permit.post();
    }));
  }
  for (const pid_t visitor : visitors) EXPECT_EQ(cookbook::exit_code_of(visitor), 0);
  EXPECT_GE(room->most, 1);
  EXPECT_LE(room->most, permits);
}

TEST(process_lock_primitives, by_a_condition_processes_take_turns_whatever_order_they_come_in) {
  constexpr int children = 6;
  struct Turns {
    Mutex mutex;
    Condition ended;
    int turn = 0, order[children];
  };
  const Shared<Turns> turns;
  std::vector<pid_t> players;
  for (int self = children - 1; self >= 0; --self) {
    players.push_back(cookbook::start_child([&] {
      std::unique_lock lock(turns->mutex);
      if (!turns->ended.wait_for(lock, std::chrono::seconds(10), [&] { return turns->turn == self; })) return 1;
      turns->order[turns->turn++] = self;
      turns->ended.notify_all();
      return 0;
    }));
  }
  for (const pid_t player : players) EXPECT_EQ(cookbook::exit_code_of(player), 0);
  for (int i = 0; i < children; ++i) EXPECT_EQ(turns->order[i], i);
}

}  // namespace

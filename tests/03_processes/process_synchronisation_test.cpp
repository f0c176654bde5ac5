// The program's output, and event and barrier from inside.

#include "03_processes/process_synchronisation/primitives.hpp"

#include <atomic>
#include <boost/interprocess/sync/interprocess_recursive_mutex.hpp>
#include <thread>

#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::Result;
using test_support::run;
using test_support::wait_until_asleep;

TEST(process_synchronisation, each_process_prints_one_line) {
  const auto result = run("process_synchronisation");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const auto names = result.captures(
      "^process (p\\d - test_with(?:out)?_barrier) ----> \\d{4}-\\d\\d-\\d\\d "
      "\\d\\d:\\d\\d:\\d\\d\\.\\d{6}$");
  ASSERT_EQ(names.size(), 4U) << result.text();
  EXPECT_THAT(std::vector(names.begin(), names.begin() + 2),  // those at the barrier wait for these
              testing::UnorderedElementsAre("p3 - test_without_barrier", "p4 - test_without_barrier"));
  EXPECT_THAT(std::vector(names.begin() + 2, names.end()),
              testing::UnorderedElementsAre("p1 - test_with_barrier", "p2 - test_with_barrier"));
}

TEST(process_synchronisation, the_primitives_hold_whatever_the_number_of_processes) {
  for (const int workers : {1, 3, 32}) {
    const auto result = run("process_synchronisation", {"--workers", std::to_string(workers), "--rounds", "200"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    for (const std::string line : {"barrier: p1 and p2 went on after both had come, p3 and p4 before: yes",
                                   "event: changes made before it was set: 0", "lock: changes that were lost: 0"}) {
      EXPECT_TRUE(result.has_line("ok    " + line)) << line << '\n' << result.text();
    }
    EXPECT_EQ(result.leaked_processes, 0);
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(process_synchronisation, an_event_releases_all_that_wait) {
  const Shared<Event> event;
  EXPECT_FALSE(event->wait_for(1ms));
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) children.push_back(cookbook::start_child([&] { return event->wait_for(10s) ? 0 : 1; }));
  for (const pid_t child : children) wait_until_asleep(child);
  event->set();
  for (const pid_t child : children) EXPECT_EQ(cookbook::exit_code_of(child), 0);
  EXPECT_TRUE(event->wait_for(0ms));
}

TEST(process_synchronisation, a_barrier_alone_times_out_and_can_be_used_afterwards) {
  const Shared<Barrier> barrier(2);
  EXPECT_FALSE(barrier->wait_for(1ms));
  EXPECT_FALSE(barrier->wait_for(1ms));  // the one who has given up does not count
  const pid_t child = cookbook::start_child([&] { return barrier->wait_for(10s) ? 0 : 1; });
  EXPECT_TRUE(barrier->wait_for(10s));
  EXPECT_EQ(cookbook::exit_code_of(child), 0);
}

TEST(process_synchronisation, nobody_begins_a_phase_before_all_have_ended_the_last_one) {
  constexpr int parties = 3, phases = 500;
  struct Board {
    Barrier barrier{parties};
    std::atomic<int> ended[parties] = {};
  };
  const Shared<Board> board;
  std::vector<pid_t> children;
  for (int self = 0; self < parties; ++self) {
    children.push_back(cookbook::start_child([&] {
      for (int phase = 1; phase <= phases; ++phase) {
        board->ended[self] = phase;
        if (!board->barrier.wait_for(10s)) return 1;
        for (const std::atomic<int>& other : board->ended) {
          if (other < phase) return 2;
        }
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(cookbook::exit_code_of(child), 0);
}

TEST(process_synchronisation, a_recursive_lock_is_free_when_given_back_as_often_as_taken) {
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

TEST(process_synchronisation, a_semaphore_lets_no_more_processes_in_than_it_has_permits) {
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

TEST(process_synchronisation, by_a_condition_processes_take_turns_whatever_order_they_come_in) {
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

TEST(process_synchronisation, ctrl_c_and_a_kill_leave_nothing_behind) {
  for (const test_support::RunOptions& setting :
       {test_support::RunOptions{.interrupt_after_ms = 100}, test_support::RunOptions{.kill_after_ms = 100}}) {
    const auto result = run("process_synchronisation", {"--workers", "32", "--rounds", "1000000"}, setting);
    EXPECT_EQ(result.exit_code, setting.kill_after_ms > 0 ? -9 : -2) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

}  // namespace

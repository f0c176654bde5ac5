// The program's output, its producer and SharedQueue from inside.

#define main main_of_the_program  // its functions are tested from inside, too
#include "03_processes/process_queue/process_queue.cpp"
#undef main

#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "cookbook/process.hpp"
#include "one_shot_event.hpp"
#include "shared_memory.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using test_support::run;

/// A queue that is wrong may hang. The limit is shorter than that of ctest, so that the program does not outlive its
/// test.
const test_support::RunOptions in_time = {.limit = std::chrono::seconds(5)};

/// What a row says of so many consumers, in ms.
struct Row {
  std::vector<double> waits;
  double done = -1;
};

Row row(const test_support::Result& result, int consumers) {
  const std::string before = "^ +" + std::to_string(consumers) + "  ";
  const auto waits = result.captures(before + "([\\d ]*) +[\\d.]+ ms$");
  const auto done = result.captures(before + "[\\d ]* (\\d+\\.\\d) ms$");
  EXPECT_EQ(waits.size(), 1U) << result.text();
  EXPECT_EQ(done.size(), 1U) << result.text();
  Row row;
  if (waits.empty() || done.empty()) return row;
  std::istringstream numbers(waits[0]);
  for (double wait = 0; numbers >> wait;) row.waits.push_back(wait);
  row.done = std::stod(done[0]);
  return row;
}

TEST(process_queue, without_items_it_ends_and_every_number_of_items_arrives) {
  for (const std::string items : {"0", "1", "1000"}) {
    const auto result = run("process_queue", {"--items", items, "--unit-ms", "0"}, in_time);
    ASSERT_FALSE(result.timed_out) << result.text();
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string all = "[" + items + ", " + items + ", " + items + "]";
    EXPECT_TRUE(result.has_line("ok    items that were taken exactly once: " + all)) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST(process_queue, all_is_done_no_earlier_than_the_work_allows) {
  const auto result = run("process_queue", {}, in_time);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_GE(row(result, 1).done, 300) << "one consumer, ten items of 30 ms";
  EXPECT_GE(row(result, 2).done, 150);
  EXPECT_GE(row(result, 3).done, 120) << "the last item is there after 90 ms";
  for (const int consumers : {1, 2, 3}) {
    const auto [waits, done] = row(result, consumers);
    ASSERT_EQ(waits.size(), 10U) << result.text();
    for (std::size_t item = 0; item < waits.size(); ++item) {
      // It is put after so many units, then it waits, and then it takes three; a wait is rounded to whole ms.
      EXPECT_LE(static_cast<double>(10 * item) + waits[item] + 30, done + 1) << result.text();
    }
  }
}

TEST(process_queue, the_producer_puts_an_item_at_the_beginning_of_each_unit) {
  const Clock::duration unit = std::chrono::milliseconds(200);
  for (int attempt = 0; attempt < 10; ++attempt) {  // on a busy machine an item may be late, but it is never early
    const Shared<Board> board;
    const auto start = Clock::now();
    produce(*board, 3, unit);
    EXPECT_GE(Clock::now(), start + 3 * unit);
    EXPECT_EQ(board->queue.size(), 3U);
    bool punctual = true;
    for (const int item : {0, 1, 2}) {
      EXPECT_GE(board->put[item], start + item * unit);
      punctual = punctual && board->put[item] < start + item * unit + unit / 2;
    }
    if (punctual) return;
  }
  FAIL() << "an item was late in each of ten runs";
}

TEST(process_queue, a_consumer_works_three_units_on_each_item) {
  const Clock::duration unit = std::chrono::milliseconds(50);
  for (int attempt = 0; attempt < 10; ++attempt) {  // on a busy machine it may take longer
    const Shared<Board> board;
    for (const int item : {0, 1, 2, no_more}) board->queue.put(item);
    consume(*board, unit);
    const auto end = Clock::now();
    bool punctual = true;
    for (const int item : {0, 1, 2}) {
      const auto time = (item == 2 ? end : board->taken[item + 1]) - board->taken[item];
      EXPECT_GE(time, 3 * unit);
      punctual = punctual && time < 3 * unit + unit / 2;
    }
    if (punctual) return;
  }
  FAIL() << "it took half a unit more for an item, in each of ten runs";
}

/// Whether each item waited as long as expected, give or take half a unit of 20 ms.
bool waited(const std::vector<double>& waits, const std::vector<double>& expected) {
  const auto near = [](double wait, double right) { return wait >= right - 10 && wait <= right + 10; };
  return std::equal(waits.begin(), waits.end(), expected.begin(), expected.end(), near);
}

TEST(process_queue_timing, the_waits_grow_with_one_consumer_and_with_two_and_not_with_three) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto result = run("process_queue", {"--unit-ms", "20"});
    if (waited(row(result, 1).waits, {0, 40, 80, 120, 160, 200, 240, 280, 320, 360}) &&
        waited(row(result, 2).waits, {0, 0, 20, 20, 40, 40, 60, 60, 80, 80}) &&
        waited(row(result, 3).waits, std::vector<double>(10, 0))) {
      return;
    }
    std::puts(result.text().c_str());
  }
  FAIL();
}

TEST(process_queue, killed_or_interrupted_it_leaves_nothing_behind) {
  for (const test_support::RunOptions& setting :
       {test_support::RunOptions{.interrupt_after_ms = 100}, test_support::RunOptions{.kill_after_ms = 100}}) {
    const auto result = run("process_queue", {"--unit-ms", "1000"}, setting);
    EXPECT_EQ(result.exit_code, setting.kill_after_ms > 0 ? -9 : -2) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

/// Whether a process sleeps: then it waits for something that has not happened yet.
bool sleeps(pid_t process) { return test_support::state_of(process) == 'S'; }

void until_it_sleeps(pid_t process) {
  while (!sleeps(process)) usleep(1000);
}

TEST(process_queue_shared_queue, put_waits_while_the_queue_is_full) {
  const Shared<SharedQueue<int, 2>> queue;
  const pid_t producer = cookbook::start_child([&] {
    for (int item = 1; item <= 3; ++item) queue->put(item);
  });
  while (queue->size() < 2) usleep(1000);
  until_it_sleeps(producer);
  EXPECT_EQ(queue->size(), 2U);
  EXPECT_EQ(queue->get(), 1);
  EXPECT_EQ(cookbook::exit_code_of(producer), 0);
  EXPECT_EQ(queue->get(), 2);
  EXPECT_EQ(queue->get(), 3);
}

TEST(process_queue_shared_queue, get_waits_while_the_queue_is_empty_and_each_consumer_gets_another_item) {
  const Shared<SharedQueue<int, 4>> queue;
  int codes = 0;
  const pid_t one = cookbook::start_child([&] { return queue->get(); });
  const pid_t two = cookbook::start_child([&] { return queue->get(); });
  until_it_sleeps(one);
  until_it_sleeps(two);
  queue->put(1);
  queue->put(2);
  codes += cookbook::exit_code_of(one) + cookbook::exit_code_of(two);
  EXPECT_EQ(codes, 3);
  EXPECT_EQ(queue->size(), 0U);
}

TEST(process_queue_shared_queue, join_waits_for_what_has_been_taken_but_not_processed) {
  const Shared<SharedQueue<int, 16>> queue;
  queue->join();  // nothing was ever put
  for (int item = 0; item < 10; ++item) queue->put(item);
  for (int item = 0; item < 10; ++item) EXPECT_EQ(queue->get(), item);
  for (int item = 0; item < 9; ++item) queue->task_done();
  const pid_t joiner = cookbook::start_child([&] { queue->join(); });
  until_it_sleeps(joiner);
  int status = 0;
  EXPECT_EQ(waitpid(joiner, &status, WNOHANG), 0) << "nine of ten are done";
  queue->task_done();
  EXPECT_EQ(cookbook::exit_code_of(joiner), 0);
}

TEST(process_queue_shared_queue, all_processes_that_wait_in_join_go_on) {
  const Shared<SharedQueue<int, 16>> queue;
  queue->put(1);
  EXPECT_EQ(queue->get(), 1);
  std::vector<pid_t> joiners;
  for (int i = 0; i < 3; ++i) joiners.push_back(cookbook::start_child([&] { queue->join(); }));
  for (const pid_t joiner : joiners) until_it_sleeps(joiner);
  queue->task_done();
  for (const pid_t joiner : joiners) {
    const auto code = cookbook::exit_code_of(joiner, std::chrono::seconds(10));
    EXPECT_EQ(code, 0);
    for (bool has_ended = code.has_value(); !has_ended;) {  // lets it go all the same
      queue->put(2);
      queue->get();
      queue->task_done();
      has_ended = cookbook::exit_code_of(joiner, std::chrono::milliseconds(100)).has_value();
    }
  }
}

TEST(process_queue_shared_queue, refuses_more_task_done_than_items_taken) {
  const Shared<SharedQueue<int, 4>> queue;
  EXPECT_THROW(queue->task_done(), std::logic_error);
  queue->put(1);
  EXPECT_THROW(queue->task_done(), std::logic_error) << "put, but not taken";
  queue->get();
  queue->task_done();
  EXPECT_THROW(queue->task_done(), std::logic_error);
}

TEST(process_queue_shared_queue, nothing_is_lost_or_taken_twice_by_four_producers_and_four_consumers) {
  constexpr int sides = 4, items_each = 1000;
  struct Passed {
    SharedQueue<int, 8> queue;
    std::atomic<int> times[sides * items_each] = {};
  };
  const Shared<Passed> board;
  std::vector<pid_t> producers, consumers;
  for (int side = 0; side < sides; ++side) {
    consumers.push_back(cookbook::start_child([&] {
      for (int item = 0; (item = board->queue.get()) != no_more;) ++board->times[item];
    }));
    producers.push_back(cookbook::start_child([&, side] {
      for (int i = 0; i < items_each; ++i) board->queue.put(side * items_each + i);
    }));
  }
  for (const pid_t producer : producers) EXPECT_EQ(cookbook::exit_code_of(producer), 0);
  for (int side = 0; side < sides; ++side) board->queue.put(no_more);
  for (const pid_t consumer : consumers) EXPECT_EQ(cookbook::exit_code_of(consumer), 0);
  EXPECT_EQ(std::count(std::begin(board->times), std::end(board->times), 1), sides * items_each);
}

TEST(process_queue_shared_queue, a_producer_that_is_killed_while_it_works_outside_of_the_queue_holds_up_nobody) {
  const Shared<SharedQueue<int, 4>> queue;
  OneShotEvent has_put;
  const pid_t producer = cookbook::start_child([&] {
    queue->put(1);
    has_put.give();
    pause();
  });
  has_put.wait();
  ASSERT_EQ(kill(producer, SIGKILL), 0);
  EXPECT_EQ(cookbook::exit_code_of(producer), -SIGKILL);
  EXPECT_EQ(queue->get(), 1);
  queue->put(2);
  EXPECT_EQ(queue->get(), 2);
}

TEST(process_queue_shared_queue, join_waits_for_the_item_of_a_consumer_that_is_killed) {
  const Shared<SharedQueue<int, 4>> queue;
  OneShotEvent has_taken;
  const pid_t consumer = cookbook::start_child([&] {
    queue->get();
    has_taken.give();
    pause();
  });
  queue->put(1);
  has_taken.wait();
  ASSERT_EQ(kill(consumer, SIGKILL), 0);
  EXPECT_EQ(cookbook::exit_code_of(consumer), -SIGKILL);
  EXPECT_EQ(queue->size(), 0U);
  const pid_t joiner = cookbook::start_child([&] { queue->join(); });
  until_it_sleeps(joiner);
  EXPECT_EQ(waitpid(joiner, nullptr, WNOHANG), 0);
  queue->task_done();
  EXPECT_EQ(cookbook::exit_code_of(joiner), 0);
}

TEST(process_queue_shared_queue, cannot_be_destroyed_after_a_consumer_was_killed_in_get) {
  OneShotEvent destroys;
  const pid_t owner = cookbook::start_child([&] {
    const Shared<SharedQueue<int, 4>> queue;
    const pid_t consumer = cookbook::start_child([&] { queue->get(); });
    until_it_sleeps(consumer);
    check(kill(consumer, SIGKILL), "kill");
    cookbook::exit_code_of(consumer);
    destroys.give();
  });
  EXPECT_TRUE(destroys.wait());
  until_it_sleeps(owner);
  EXPECT_EQ(waitpid(owner, nullptr, WNOHANG), 0);
  ASSERT_EQ(kill(owner, SIGKILL), 0);
  EXPECT_EQ(cookbook::exit_code_of(owner), -SIGKILL);
}

TEST(process_queue_shared_queue, after_a_consumer_was_killed_in_get_a_put_wakes_nobody_and_the_next_one_hangs) {
#if !__GLIBC_PREREQ(2, 25) || __GLIBC_PREREQ(2, 41)
  GTEST_SKIP() << "glibc's condition variable waited for a dead process in versions 2.25 to 2.40 only";
#endif
  struct Counted {
    SharedQueue<int, 4> queue;
    std::atomic<int> taken = 0, put = 0;
  };
  const pid_t owner = cookbook::start_child([&] {  // never ends: it could not destroy the queue
    const Shared<Counted> board;
    const auto consume_all = [&] {
      for (;; ++board->taken) board->queue.get();
    };
    const pid_t victim = cookbook::start_child(consume_all), other = cookbook::start_child(consume_all);
    until_it_sleeps(victim);
    until_it_sleeps(other);
    check(kill(victim, SIGKILL), "kill");
    cookbook::exit_code_of(victim);
    board->queue.put(1);
    while (board->taken < 1) usleep(1000);
    until_it_sleeps(other);
    const pid_t producer = cookbook::start_child([&] {
      for (; board->put < 2; ++board->put) board->queue.put(2);
    });
    const bool hangs = !cookbook::exit_code_of(producer, std::chrono::milliseconds(500));
    _exit(hangs && board->put == 1 && board->taken == 1 ? 0 : 1);
  });
  EXPECT_EQ(cookbook::exit_code_of(owner), 0);
}

TEST(process_queue_empty, takes_nothing) {
  const auto result = run("process_queue_empty");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_THAT(result.out.back(), testing::MatchesRegex("10 items were put, [0-9]+ are still in the queue"));
}

}  // namespace

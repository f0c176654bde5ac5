// The program's output, and SharedQueue from inside. Catalogue: 3.C2, 3.7, 3.8.

#include "03_processes/process_queue/shared_queue.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>

#include "cookbook/process.hpp"
#include "one_shot_event.hpp"
#include "shared_memory.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// A queue that is wrong may hang. The limit is shorter than that of ctest, so that the program does not outlive its
/// test.
const test_support::RunOptions in_time = {.limit = std::chrono::seconds(5)};

const std::string put = "^producer-1 put (\\d+)$";
const std::string taken = "^consumer-2 took (\\d+)$";

TEST(process_queue, ten_items_come_out_in_the_order_in_which_they_went_in) {
  const auto result = run("process_queue", {"--unit-ms", "1"}, in_time);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  const auto items = result.captures(put);
  EXPECT_EQ(items, (std::vector<std::string>{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}));
  EXPECT_EQ(result.captures(taken), items) << result.text();
  EXPECT_EQ(result.lines_with("^consumer-2: the queue is empty$").size(), 1U);
  EXPECT_EQ(result.lines_with("^consumer-2").back(), "consumer-2: the queue is empty");
}

TEST(process_queue, without_items_it_ends_whether_the_sentinel_comes_before_the_consumer_or_after_it) {
  for (const std::string unit_ms : {"0", "0", "0", "0", "0", "10"}) {  // with 10 the consumer comes 20 ms too late
    const auto result = run("process_queue", {"--items", "0", "--unit-ms", unit_ms}, in_time);
    ASSERT_FALSE(result.timed_out) << result.text();
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.out.front(), "consumer-2: the queue is empty");
    EXPECT_TRUE(result.has_line("ok    items taken: 0")) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST(process_queue, any_number_of_items_arrives) {
  for (const std::string items : {"1", "1000"}) {
    const auto result = run("process_queue", {"--items", items, "--unit-ms", "0"}, in_time);
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    items taken: " + items)) << result.text();
    EXPECT_EQ(result.captures(taken), result.captures(put));
  }
}

TEST(process_queue_timing, the_queue_grows_to_seven_items_if_the_consumer_is_three_times_as_slow) {
  const std::vector<int> expected = {1, 1, 2, 3, 3, 4, 5, 5, 6, 7};
  std::vector<int> sizes;
  for (int attempt = 0; attempt < 5; ++attempt) {
    sizes.clear();
    for (const std::string& size : run("process_queue", {"--unit-ms", "20"}).captures("sees (\\d+) items")) {
      sizes.push_back(std::stoi(size));
    }
    ASSERT_EQ(sizes.size(), expected.size());
    bool right = true;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const int more = i == 1 || i == 4 || i == 7 ? 1 : 0;  // an item is taken at the same moment
      right &= sizes[i] == expected[i] || sizes[i] == expected[i] + more;
    }
    if (right) return;
  }
  FAIL() << "the last sizes are " << testing::PrintToString(sizes);
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
bool sleeps(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  file >> number >> name >> state;
  return state == "S";
}

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
  constexpr int sides = 4, items_each = 1000, no_more = -1;
  struct Board {
    SharedQueue<int, 8> queue;
    std::atomic<int> times[sides * items_each] = {};
  };
  const Shared<Board> board;
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

TEST(process_queue_empty, takes_nothing) {
  const auto result = run("process_queue_empty");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_THAT(result.out.back(), testing::MatchesRegex("10 items were put, [0-9]+ are still in the queue"));
}

}  // namespace

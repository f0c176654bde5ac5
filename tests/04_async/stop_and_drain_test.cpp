// The program's output, and ClosableQueue from inside.

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "04_async/stop_and_drain/closable_queue.hpp"
#include "support/eventually.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using test_support::run;
using test_support::with_watchdog;

TEST(stop_and_drain, in_good_order_each_order_is_finished_or_handed_back) {
  for (const int orders : {1, 2, 7, 300}) {
    for (const int workers : {1, 8}) {
      const auto result = run("stop_and_drain", {"--orders", std::to_string(orders), "--workers",
                                                 std::to_string(workers), "--order-ms", "5"});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_TRUE(result.has_line("ok    in good order each order is finished or handed back, once: yes"))
          << result.text();
      EXPECT_TRUE(result.has_line("ok    in good order, begun and not finished: 0")) << result.text();
      EXPECT_TRUE(result.has_line("ok    killed while it waits, neither begun nor handed back: 0")) << result.text();
      EXPECT_TRUE(result.has_line("ok    exit codes: [-15, 0]")) << result.text();
    }
  }
}

TEST(stop_and_drain, what_is_in_flight_is_finished_and_what_is_not_begun_is_handed_back) {
  const auto result = run("stop_and_drain", {"--orders", "100", "--workers", "4", "--order-ms", "50"});
  const auto finished = result.captures("^drained +(\\d+) +0 +\\d+ +0 +0$");
  const auto handed_back = result.captures("^drained +\\d+ +0 +(\\d+) +0 +0$");
  ASSERT_EQ(finished.size(), 1U) << result.text();
  EXPECT_EQ(std::stoi(finished[0]) + std::stoi(handed_back.at(0)), 100);
  EXPECT_GE(std::stoi(finished[0]), 8);     // the signal comes when two orders per worker have begun
  EXPECT_GT(std::stoi(handed_back[0]), 0);  // and not at the end of all
}

/// Whether a thread, whose folder below /proc this is, blocks the signal.
bool blocks(const std::filesystem::path& thread, int signal) {
  std::ifstream status(thread / "status");
  for (std::string word; status >> word;) {
    if (word == "SigBlk:" && status >> word) return std::stoull(word, nullptr, 16) >> (signal - 1) & 1;
  }
  return false;
}

TEST(stop_and_drain, every_thread_of_the_service_that_asks_for_an_end_blocks_sigterm_and_ctrl_c) {
  test_support::Process program("stop_and_drain", {"--workers", "4", "--order-ms", "400"});
  const std::filesystem::path processes = "/proc";
  const std::string id = std::to_string(program.pid());
  const auto service_blocks_both_in_all_threads = [&] {
    std::ifstream children(processes / id / "task" / id / "children");
    for (std::string child; children >> child;) {
      std::error_code gone;
      int threads = 0, blocking = 0;
      for (const auto& thread : std::filesystem::directory_iterator(processes / child / "task", gone)) {
        ++threads;
        blocking += blocks(thread, SIGTERM) && blocks(thread, SIGINT);
      }
      if (threads >= 5 && blocking >= 5) return true;  // the workers, and the thread that reads
    }
    return false;
  };
  EXPECT_TRUE(test_support::eventually(service_blocks_both_in_all_threads));
  EXPECT_EQ(program.wait().exit_code, 0);
}

TEST(stop_and_drain, ctrl_c_leaves_no_service_behind) {
  const auto result = run("stop_and_drain", {"--order-ms", "10000"}, {.interrupt_after_ms = 200});
  EXPECT_EQ(result.exit_code, -SIGINT) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(stop_and_drain_queue, gives_items_in_order_and_hands_back_the_rest) {
  ClosableQueue<int> queue;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(queue.push(i));
  EXPECT_EQ(queue.pop(), 0);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.close(), (std::deque{2, 3, 4}));
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_FALSE(queue.push(5));
  EXPECT_TRUE(queue.close().empty());
}

TEST(stop_and_drain_queue, closing_wakes_all_who_wait) {
  with_watchdog([] {
    ClosableQueue<int> queue;
    std::vector<std::jthread> waiting;
    std::vector<std::atomic<pid_t>> ids(3);
    for (auto& id : ids) {
      waiting.emplace_back([&] {
        id = gettid();
        EXPECT_EQ(queue.pop(), std::nullopt);
      });
    }
    for (auto& id : ids) {
      while (id == 0) std::this_thread::yield();
      test_support::wait_until_asleep(id);
    }
    queue.close();
  });
}

TEST(stop_and_drain_queue, an_item_wakes_one_who_waits) {
  with_watchdog([] {
    ClosableQueue<std::unique_ptr<int>> queue;
    std::atomic<pid_t> id = 0;
    std::jthread waiting([&] {
      id = gettid();
      EXPECT_EQ(**queue.pop(), 7);
    });
    while (id == 0) std::this_thread::yield();
    test_support::wait_until_asleep(id);
    queue.push(std::make_unique<int>(7));
  });
}

TEST(stop_and_drain_queue, each_item_is_taken_or_handed_back_once_whenever_it_is_closed) {
  for (int round = 0; round < 100; ++round) {
    ClosableQueue<int> queue;
    std::atomic<long> taken = 0, accepted = 0;
    long left = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
          while (const auto item = queue.pop()) taken += *item;
        });
        threads.emplace_back([&] {
          for (int item = 1; item <= 500 && queue.push(item); ++item) accepted += item;
        });
      }
      while (taken < round) std::this_thread::yield();
      for (const int item : queue.close()) left += item;
    }
    ASSERT_EQ(taken + left, accepted);
  }
}

}  // namespace

// The program's output, and ThreadPool from inside.

#include "04_async/thread_pool/thread_pool.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>

#include "04_async/pools.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

TEST(thread_pool, the_program_holds_for_any_number_of_workers_and_tasks) {
  for (const int workers : {1, 3, 8}) {
    for (const int tasks : {1, 7, 30}) {
      const auto result =
          run("thread_pool", {"--workers", std::to_string(workers), "--tasks", std::to_string(tasks)}, {.limit = 10s});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_TRUE(
          result.has_line("ok    sum of the squares: " + std::to_string(tasks * (tasks + 1) * (2 * tasks + 1) / 6)));
      EXPECT_TRUE(result.has_line("ok    tasks run before the pool was gone: 1000")) << result.text();
    }
  }
}

TEST(thread_pool_class, all_workers_take_part_and_each_is_used_again) {
  no_hang([] {
    ThreadPool pool(3);
    const std::set<pid_t> first = sleeping_workers(pool, 3);
    EXPECT_EQ(first.size(), 3U);
    EXPECT_EQ(first.count(gettid()), 0U);
    EXPECT_EQ(sleeping_workers(pool, 3), first);
  });
}

TEST(thread_pool_class, a_task_wakes_a_worker_that_sleeps) {
  no_hang([] {
    ThreadPool pool(1);
    sleeping_workers(pool, 1);
    EXPECT_EQ(pool.submit([] { return 7; }).get(), 7);
  });
}

TEST(thread_pool_class, each_of_several_tasks_wakes_one_more_worker) {
  no_hang([] {
    ThreadPool pool(3);
    for (int round = 0; round < 50; ++round) sleeping_workers(pool, 3);  // its tasks wait for each other
  });
}

TEST(thread_pool_class, no_task_waits_behind_a_long_one_while_a_worker_is_idle) {
  no_hang([] {
    for (const int workers : {2, 4}) {
      ThreadPool pool(workers);
      std::promise<void> end;
      const std::shared_future<void> ended = end.get_future();
      std::atomic<int> done = 0;
      // Long tasks among the short ones; one worker is left for all the others.
      for (int i = 0; i < 400; ++i) {
        if (i % 100 == 0 && i / 100 < workers - 1) pool.post([ended] { ended.wait(); });
        pool.post([&] {
          ++done;
          done.notify_one();
        });
      }
      for (int seen; (seen = done) < 400;) done.wait(seen);
      end.set_value();
    }
  });
}

TEST(thread_pool_class, one_worker_runs_the_tasks_in_the_order_of_posting) {
  std::vector<int> order, expected;
  {
    ThreadPool pool(1);
    for (int i = 0; i < 1'000; ++i) {
      pool.post([&, i] { order.push_back(i); });
      expected.push_back(i);
    }
  }
  EXPECT_EQ(order, expected);
}

TEST(thread_pool_class, the_destructor_waits_for_tasks_and_for_tasks_that_these_post) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> done = 0;
    {
      ThreadPool pool(2);
      for (int i = 0; i < 100; ++i) {
        pool.post([&] {
          pool.post([&] { ++done; });
          ++done;
        });
      }
    }
    ASSERT_EQ(done, 200);
  }
}

TEST(thread_pool_class, the_destructor_ends_workers_that_sleep) {
  no_hang([] {
    ThreadPool pool(4);
    sleeping_workers(pool, 4);
  });
}

TEST(thread_pool_class, tasks_may_come_from_many_threads) {
  std::atomic<int> done = 0;
  {
    ThreadPool pool(2);
    std::vector<std::jthread> posting;
    for (int i = 0; i < 4; ++i) {
      posting.emplace_back([&] {
        for (int task = 0; task < 2'000; ++task) pool.post([&] { ++done; });
      });
    }
    posting.clear();
  }
  EXPECT_EQ(done, 8'000);
}

TEST(thread_pool_class, an_exception_reaches_its_future_and_ends_no_worker) {
  ThreadPool pool(1);
  std::future<int> fails = pool.submit([]() -> int { throw std::runtime_error("no such number"); });
  EXPECT_THROW(fails.get(), std::runtime_error);
  EXPECT_EQ(pool.submit([] { return 42; }).get(), 42);
}

TEST(thread_pool_class, what_a_task_holds_is_given_back_before_the_worker_waits_for_the_next_one) {
  ThreadPool pool(1);
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  pool.submit([held = std::move(held)] {}).get();
  sleeping_workers(pool, 1);
  EXPECT_TRUE(watched.expired());
}

TEST(thread_pool_class, a_function_need_not_be_copyable) {
  ThreadPool pool(1);
  EXPECT_EQ(pool.submit([number = std::make_unique<int>(7)] { return *number; }).get(), 7);
}

TEST(thread_pool_class, a_pool_without_workers_is_refused) {
  EXPECT_THROW(ThreadPool(0), std::invalid_argument);
  EXPECT_THROW(ThreadPool(-1), std::invalid_argument);
}

}  // namespace

// The program's output, and FairThreadPool from inside.

#include "04_async/fair_thread_pool/fair_thread_pool.hpp"

#include <algorithm>
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

TEST(fair_thread_pool, no_short_task_waits_for_a_long_one_for_any_number_of_workers_and_tasks) {
  for (const int workers : {2, 3, 8}) {
    for (const int tasks : {1, 7, 1'000}) {
      const auto result = run("fair_thread_pool",
                              {"--workers", std::to_string(workers), "--tasks", std::to_string(tasks)}, {.limit = 10s});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_TRUE(result.has_line("ok    short tasks done: " + std::to_string(tasks))) << result.text();
      EXPECT_TRUE(result.has_line("ok    long tasks done by then: 0")) << result.text();
      EXPECT_TRUE(result.has_line("ok    long tasks done when the pool was gone: " +
                                  std::to_string(std::min(tasks, workers - 1))));
    }
  }
}

TEST(fair_thread_pool_class, all_workers_take_part_and_each_is_used_again) {
  no_hang([] {
    FairThreadPool pool(3);
    const std::set<pid_t> first = sleeping_workers(pool, 3);
    EXPECT_EQ(first.size(), 3U);
    EXPECT_EQ(first.count(gettid()), 0U);
    EXPECT_EQ(sleeping_workers(pool, 3), first);
  });
}

TEST(fair_thread_pool_class, a_task_wakes_a_worker_that_sleeps) {
  no_hang([] {
    FairThreadPool pool(1);
    sleeping_workers(pool, 1);
    std::promise<void> ran;
    pool.post([&] { ran.set_value(); });
    ran.get_future().wait();
  });
}

TEST(fair_thread_pool_class, each_of_several_tasks_wakes_one_more_worker) {
  no_hang([] {
    FairThreadPool pool(3);
    for (int round = 0; round < 50; ++round) sleeping_workers(pool, 3);  // its tasks wait for each other
  });
}

TEST(fair_thread_pool_class, no_task_waits_behind_a_long_one_while_a_worker_is_idle) {
  no_hang([] {
    for (const int workers : {2, 4}) {
      FairThreadPool pool(workers);
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

TEST(fair_thread_pool_class, one_worker_runs_the_tasks_in_the_order_of_posting) {
  std::vector<int> order, expected;
  {
    FairThreadPool pool(1);
    for (int i = 0; i < 1'000; ++i) {
      pool.post([&, i] { order.push_back(i); });
      expected.push_back(i);
    }
  }
  EXPECT_EQ(order, expected);
}

TEST(fair_thread_pool_class, the_destructor_waits_for_tasks_and_for_tasks_that_these_post) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> done = 0;
    {
      FairThreadPool pool(2);
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

TEST(fair_thread_pool_class, the_destructor_ends_workers_that_sleep) {
  no_hang([] {
    FairThreadPool pool(4);
    sleeping_workers(pool, 4);
  });
}

TEST(fair_thread_pool_class, tasks_may_come_from_many_threads) {
  std::atomic<int> done = 0;
  {
    FairThreadPool pool(2);
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

TEST(fair_thread_pool_class, what_a_task_holds_is_given_back_before_the_worker_waits_for_the_next_one) {
  FairThreadPool pool(1);
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  pool.post([held = std::move(held)] {});
  sleeping_workers(pool, 1);
  EXPECT_TRUE(watched.expired());
}

TEST(fair_thread_pool_class, workers_that_never_look_before_they_sleep_lose_no_task) {
  no_hang([] {
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> done = 0;
      {
        FairThreadPool pool(3, 0us);
        for (int i = 0; i < 100; ++i) pool.post([&] { ++done; });
      }
      ASSERT_EQ(done, 100);
    }
  });
}

TEST(fair_thread_pool_class, a_pool_without_workers_is_refused) {
  EXPECT_THROW(FairThreadPool(0), std::invalid_argument);
  EXPECT_THROW(FairThreadPool(-1), std::invalid_argument);
}

}  // namespace

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
using pools::sleeping_workers;
using test_support::run;
using test_support::with_watchdog;

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
  pools::all_workers_take_part_and_each_is_used_again<FairThreadPool>();
}

TEST(fair_thread_pool_class, a_task_wakes_a_worker_that_sleeps) {
  with_watchdog([] {
    FairThreadPool pool(1);
    sleeping_workers(pool, 1);
    std::promise<void> ran;
    pool.post([&] { ran.set_value(); });
    ran.get_future().wait();
  });
}

TEST(fair_thread_pool_class, each_of_several_tasks_wakes_one_more_worker) {
  pools::each_of_several_tasks_wakes_one_more_worker<FairThreadPool>();
}

TEST(fair_thread_pool_class, no_task_waits_behind_a_long_one_while_a_worker_is_idle) {
  pools::no_task_waits_behind_a_long_one_while_a_worker_is_idle<FairThreadPool>();
}

TEST(fair_thread_pool_class, one_worker_runs_the_tasks_in_the_order_of_posting) {
  pools::one_worker_runs_the_tasks_in_the_order_of_posting<FairThreadPool>();
}

TEST(fair_thread_pool_class, the_destructor_waits_for_tasks_and_for_tasks_that_these_post) {
  pools::the_destructor_waits_for_tasks_and_for_tasks_that_these_post<FairThreadPool>();
}

TEST(fair_thread_pool_class, the_destructor_ends_workers_that_sleep) {
  pools::the_destructor_ends_workers_that_sleep<FairThreadPool>();
}

TEST(fair_thread_pool_class, tasks_may_come_from_many_threads) {
  pools::tasks_may_come_from_many_threads<FairThreadPool>();
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
  with_watchdog([] {
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
  pools::a_pool_without_workers_is_refused<FairThreadPool>();
}

}  // namespace

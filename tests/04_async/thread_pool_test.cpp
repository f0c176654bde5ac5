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
using pools::sleeping_workers;
using test_support::run;
using test_support::with_watchdog;

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
  pools::all_workers_take_part_and_each_is_used_again<ThreadPool>();
}

TEST(thread_pool_class, a_task_wakes_a_worker_that_sleeps) {
  with_watchdog([] {
    ThreadPool pool(1);
    sleeping_workers(pool, 1);
    EXPECT_EQ(pool.submit([] { return 7; }).get(), 7);
  });
}

TEST(thread_pool_class, each_of_several_tasks_wakes_one_more_worker) {
  pools::each_of_several_tasks_wakes_one_more_worker<ThreadPool>();
}

TEST(thread_pool_class, no_task_waits_behind_a_long_one_while_a_worker_is_idle) {
  pools::no_task_waits_behind_a_long_one_while_a_worker_is_idle<ThreadPool>();
}

TEST(thread_pool_class, one_worker_runs_the_tasks_in_the_order_of_posting) {
  pools::one_worker_runs_the_tasks_in_the_order_of_posting<ThreadPool>();
}

TEST(thread_pool_class, the_destructor_waits_for_tasks_and_for_tasks_that_these_post) {
  pools::the_destructor_waits_for_tasks_and_for_tasks_that_these_post<ThreadPool>();
}

TEST(thread_pool_class, the_destructor_ends_workers_that_sleep) {
  pools::the_destructor_ends_workers_that_sleep<ThreadPool>();
}

TEST(thread_pool_class, tasks_may_come_from_many_threads) { pools::tasks_may_come_from_many_threads<ThreadPool>(); }

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

TEST(thread_pool_class, a_pool_without_workers_is_refused) { pools::a_pool_without_workers_is_refused<ThreadPool>(); }

}  // namespace

// The program's output, and ThreadPool from inside.

#include "04_async/thread_pool/thread_pool.hpp"

namespace {

int pools_made = 0, workers_made = 0, tasks_submitted = 0, tasks_posted = 0;

/// The pool of the program, which notes what it is used for.
struct NotedPool : ThreadPool {
  explicit NotedPool(int workers) : ThreadPool(workers) {
    ++pools_made;
    workers_made += workers;
  }
  template <typename Function>
  auto submit(Function function) {
    ++tasks_submitted;
    return ThreadPool::submit(std::move(function));
  }
  void post(Task task) {
    ++tasks_posted;
    ThreadPool::post(std::move(task));
  }
};

}  // namespace

#define main main_of_the_program  // its functions are tested from inside, too
#define ThreadPool NotedPool
#include "04_async/thread_pool/thread_pool.cpp"
#undef ThreadPool
#undef main

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "04_async/count_locks.hpp"
#include "04_async/pools.hpp"
#include "support/eventually.hpp"
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
      EXPECT_TRUE(result.has_line("ok    wrong sums of the squares: 0")) << result.text();
      EXPECT_TRUE(result.has_line("ok    exception that came out of the future: no such number")) << result.text();
      EXPECT_TRUE(result.has_line("ok    tasks run before the pool was gone: 1000")) << result.text();
    }
  }
}

TEST(thread_pool, each_way_runs_each_task_once) {
  for (const Way way : {plain_loop, thread_per_task, in_a_pool, without_futures}) {
    EXPECT_EQ(way(2, 5, 1), 1 + 4 + 9 + 16 + 25);
  }
}

TEST(thread_pool, a_row_counts_the_runs_whose_sum_is_wrong) {
  EXPECT_EQ(row("right", plain_loop, 1, 5), 0);
  EXPECT_EQ(row(
                "wrong", [](int, int tasks, int steps) { return plain_loop(1, tasks, steps) + 1; }, 1, 5),
            3 * 4);
}

TEST(thread_pool, the_ways_of_the_pool_hand_each_task_to_one_pool) {
  for (const Way way : {in_a_pool, without_futures}) {
    pools_made = workers_made = tasks_submitted = tasks_posted = 0;
    way(3, 5, 1);
    EXPECT_EQ(pools_made, 1);
    EXPECT_EQ(workers_made, 3);
    EXPECT_EQ(tasks_submitted, way == in_a_pool ? 5 : 0);
    EXPECT_EQ(tasks_posted, way == in_a_pool ? 0 : 5);
  }
}

/// The processor time of the calling thread in a way, which does not depend on what else runs.
double own_seconds(Way way, int tasks, int steps) {
  const auto now = [] {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double before = now();
  way(2, tasks, steps);
  return now() - before;
}

TEST(thread_pool, whoever_hands_in_the_tasks_does_not_run_them) {
  const double all = own_seconds(plain_loop, 5, 10'000'000);
  for (const Way way : {thread_per_task, in_a_pool, without_futures}) {
    EXPECT_LT(own_seconds(way, 5, 10'000'000), all / 4);
  }
}

/// The times of a row of the table in us: no steps, 1,000, 10,000 and 100,000 steps of work per task.
std::vector<double> times_of(const test_support::Result& result, const std::string& row) {
  std::vector<double> times;
  for (int column = 0; column < 4; ++column) {
    std::string pattern = "^" + row;
    for (int i = 0; i < 4; ++i) pattern += i == column ? " +(\\d+\\.\\d{3}) us" : " +[0-9.]+ us";
    for (const std::string& time : result.captures(pattern + "$")) times.push_back(std::stod(time));
  }
  EXPECT_EQ(times.size(), 4U) << result.text();
  times.resize(4);
  return times;
}
const std::vector<std::string> rows = {"a plain loop", "a thread per task", "a pool of 2 threads", "  without futures"};

TEST(thread_pool, the_times_are_those_of_the_runs) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("thread_pool");
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  double all_ms = 0;
  for (const std::string& row : rows) {
    for (const double us : times_of(result, row)) all_ms += us;  // of 1,000 tasks
  }
  EXPECT_LE(3 * all_ms, ms);  // each is the best of three
}

TEST(thread_pool_timing, a_task_has_as_many_steps_as_its_column_says) {
  const auto times = times_of(run("thread_pool", {"--tasks", "100"}), rows[0]);
  EXPECT_GT(times[1], 3 * times[0]);
  EXPECT_GT(times[2], 3 * times[1]);  // ten times as many steps
  EXPECT_GT(times[3], 3 * times[2]);
}

TEST(thread_pool_timing, a_task_in_the_pool_costs_much_less_than_a_thread_of_its_own) {
  const auto result = run("thread_pool");
  const auto loop = times_of(result, rows[0]), threads = times_of(result, rows[1]), pool = times_of(result, rows[2]);
  EXPECT_LT(loop[0], pool[0]) << "the plain loop hands over nothing\n" << result.text();
  EXPECT_LT(3 * pool[0], threads[0]) << result.text();
}

/// Whether in one of five runs the time in this column is less in one row than in the other. (Other programs may take
/// any part of the processors.)
bool is_once_faster(const std::string& row, const std::string& than, std::size_t column) {
  for (int i = 0; i < 5; ++i) {
    const auto result = run("thread_pool");
    if (times_of(result, row)[column] < times_of(result, than)[column]) return true;
  }
  return false;
}

TEST(thread_pool_timing, long_tasks_are_faster_in_the_pool_than_in_the_loop) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one processor";
  EXPECT_TRUE(is_once_faster(rows[2], rows[0], 3));
  EXPECT_TRUE(is_once_faster(rows[3], rows[0], 3));
}

TEST(thread_pool_timing, a_task_without_a_future_costs_less) { EXPECT_TRUE(is_once_faster(rows[3], rows[2], 0)); }

TEST(thread_pool_class, no_more_threads_work_than_the_pool_has) {
  ThreadPool pool(2);
  std::set<std::thread::id> threads;
  std::vector<std::future<std::thread::id>> futures;
  for (int i = 0; i < 200; ++i) futures.push_back(pool.submit([] { return std::this_thread::get_id(); }));
  for (auto& future : futures) threads.insert(future.get());
  EXPECT_LE(threads.size(), 2U);
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0U);
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

TEST(thread_pool_class, short_tasks_that_are_posted_behind_a_long_one_do_not_wait_for_it) {
  pools::short_tasks_that_are_posted_behind_a_long_one_do_not_wait_for_it<ThreadPool>();
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

#ifdef COUNTS_LOCKS
// Without the lock, a worker that has just seen that the pool is not closed, and does not wait yet, would miss the
// wake-up. That happens too seldom to wait for, so what is looked at is the lock itself.
TEST(thread_pool_class, the_destructor_takes_the_lock_to_close_the_pool) {
  auto pool = std::make_unique<ThreadPool>(1);
  sleeping_workers(*pool, 1);
  const long before = locks_taken_by_thread;
  pool.reset();
  EXPECT_GT(locks_taken_by_thread, before);
}
#endif

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

TEST(thread_pool_class, workers_that_were_started_end_if_another_one_cannot_be_started) {
  pools::workers_that_were_started_end_if_another_one_cannot_be_started<ThreadPool>();
}

TEST(thread_pool_class, a_pool_without_workers_is_refused) { pools::a_pool_without_workers_is_refused<ThreadPool>(); }

}  // namespace

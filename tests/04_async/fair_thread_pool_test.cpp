// The program's output, and FairThreadPool from inside.

#include "04_async/fair_thread_pool/fair_thread_pool.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "04_async/count_locks.hpp"
#include "04_async/pools.hpp"
#include "cookbook/affinity.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using pools::sleeping_workers;
using test_support::run;
using test_support::with_watchdog;

TEST(fair_thread_pool, runs_all_tasks_and_none_waits_for_a_long_one_for_any_number_of_workers_and_tasks) {
  for (const int workers : {2, 3, 8}) {
    for (const int tasks : {1, 7, 1'000}) {
      const auto result = run("fair_thread_pool",
                              {"--workers", std::to_string(workers), "--tasks", std::to_string(tasks)}, {.limit = 10s});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_TRUE(result.has_line("ok    runs in which all tasks ran: 6")) << result.text();
      EXPECT_TRUE(result.has_line("ok    long tasks that a short one had to wait for: 0")) << result.text();
    }
  }
}

TEST(fair_thread_pool, few_wake_ups_are_few) {
  std::string seen;
  for (int attempt = 0; attempt < 5; ++attempt) {  // with many processors a row came to 23.6 %
    const auto result = run("fair_thread_pool", {"--workers", "16", "--tasks", "20000"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string form = " +([0-9.]+) % +\\d+ ns", other = " +[0-9.]+ % +\\d+ ns", row = "^tasks of +\\d+ us";
    const auto each = result.captures(row + form + other + "$"), few = result.captures(row + other + form + "$");
    ASSERT_EQ(each.size(), 3U) << result.text();
    ASSERT_EQ(few.size(), 3U) << result.text();
    for (const std::string& share : each) EXPECT_LE(std::stod(share), 100) << result.text();
    if (std::ranges::all_of(few, [](const std::string& share) { return std::stod(share) < 25; })) return;
    seen = result.text();
  }
  FAIL() << "in each run a quarter of the tasks woke a worker in some row\n" << seen;
}

/// Runs `tasks` small tasks in a pool whose workers all sleep; returns how many it has woken.
long wake_ups(Wake wake, int workers, int tasks) {
  FairThreadPool pool(workers, wake);
  while (pool.sleeping() < workers) std::this_thread::yield();
  std::latch done(tasks);
  for (int i = 0; i < tasks; ++i) pool.post([&] { done.count_down(); });
  done.wait();
  return pool.wake_ups();
}

/// Runs `work` on two processors at most, also the threads that it starts.
void on_two_processors(const std::function<void()>& work) {
  cpu_set_t all, two;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&two);
  for (int processor = 0; processor < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++processor) {
    if (CPU_ISSET(processor, &all)) CPU_SET(processor, &two);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof two, &two), 0);
  work();
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

TEST(fair_thread_pool_class, wakes_one_worker_for_one_task) {
  with_watchdog([] {
    for (const Wake wake : {Wake::one_per_task, Wake::few}) EXPECT_EQ(wake_ups(wake, 4, 1), 1);
  });
}

// With more processors they may be more: up to 1,298 with 32. Another program that runs in between can make a few
// rounds worse, too; with a wake-up per task, half of the rounds have thousands.
TEST(fair_thread_pool_class, on_two_processors_few_wake_ups_do_for_many_tasks) {
  on_two_processors([] {
    with_watchdog([] {
      std::vector<long> rounds(11);
      for (long& woken : rounds) woken = wake_ups(Wake::few, 16, 5'000);
      std::sort(rounds.begin(), rounds.end());
      EXPECT_LT(rounds[rounds.size() / 2], 1'000) << testing::PrintToString(rounds);
    });
  });
}

// What the page promises: fewer wake-ups take less time.
TEST(fair_thread_pool_timing, few_wake_ups_take_less_time_than_one_per_task) {
  if (std::thread::hardware_concurrency() < 8) GTEST_SKIP() << "with few processors the workers hardly sleep";
  std::string seen;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto result = run("fair_thread_pool");
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto each = result.captures("^tasks of +0 us +[0-9.]+ % +(\\d+) ns +[0-9.]+ % +\\d+ ns$");
    const auto few = result.captures("^tasks of +0 us +[0-9.]+ % +\\d+ ns +[0-9.]+ % +(\\d+) ns$");
    ASSERT_TRUE(each.size() == 1 && few.size() == 1) << result.text();
    if (std::stod(few[0]) < 0.8 * std::stod(each[0])) return;
    seen = result.text();
  }
  FAIL() << "never less than 0.8 of the time\n" << seen;
}

// Not where other programs keep the processors busy: there, workers that are awake wait for one, and few are woken.
TEST(fair_thread_pool_timing, the_simple_form_wakes_a_worker_again_and_again) {
  with_watchdog([] {
    long most = 0;
    for (int round = 0; round < 200 && most < 1'500; ++round) {
      most = std::max(most, wake_ups(Wake::one_per_task, 16, 5'000));
    }
    EXPECT_GE(most, 1'500);
  });
}

long context_switches_of_this_thread() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

TEST(fair_thread_pool_class, of_three_tasks_in_a_row_one_wakes_a_worker_and_in_the_simple_form_each_does) {
  // All threads on one processor, and no thread is interrupted because another one was woken: so the worker that the
  // first task has woken is on its way while the other two are posted. A round in which this thread has lost the
  // processor meanwhile, to another program or at the pool's lock, does not count.
  const sched_param none = {};
  cookbook::pin(0);
  ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
  with_watchdog([] {
    for (const Wake wake : {Wake::few, Wake::one_per_task}) {
      FairThreadPool pool(4, wake);
      for (int undisturbed = 0; undisturbed < 60;) {
        while (pool.sleeping() < 4) std::this_thread::yield();
        const long before = pool.wake_ups(), switches = context_switches_of_this_thread();
        for (int i = 0; i < 3; ++i) pool.post([] {});
        const long woken = pool.wake_ups() - before;
        if (context_switches_of_this_thread() != switches) continue;
        ++undisturbed;
        ASSERT_EQ(woken, wake == Wake::few ? 1 : 3);
      }
    }
  });
  ASSERT_EQ(sched_setscheduler(0, SCHED_OTHER, &none), 0);  // for the tests behind this one, if they run in one process
  cookbook::unpin();
}

TEST(fair_thread_pool_class, wakes_nobody_if_nobody_sleeps) {
  with_watchdog([] {
    for (const Wake wake : {Wake::one_per_task, Wake::few}) {
      FairThreadPool pool(1, wake);
      std::latch begun(1), end(1);
      pool.post([&] {
        begun.count_down();
        end.wait();
      });
      begun.wait();
      const long before = pool.wake_ups();
      EXPECT_EQ(pool.sleeping(), 0);
      for (int i = 0; i < 1'000; ++i) pool.post([] {});
      EXPECT_EQ(pool.wake_ups(), before);
      end.count_down();
    }
  });
}

TEST(fair_thread_pool_class, all_workers_sleep_when_nothing_is_left) {
  with_watchdog([] {
    FairThreadPool pool(5);
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 100; ++i) pool.post([] {});
      while (pool.sleeping() < 5) std::this_thread::yield();
    }
  });
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

TEST(fair_thread_pool_class, short_tasks_that_are_posted_behind_a_long_one_do_not_wait_for_it) {
  pools::short_tasks_that_are_posted_behind_a_long_one_do_not_wait_for_it<FairThreadPool>();
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

TEST(fair_thread_pool_class, the_form_that_wakes_one_worker_per_task_loses_no_task) {
  with_watchdog([] {
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> done = 0;
      {
        FairThreadPool pool(3, Wake::one_per_task);
        for (int i = 0; i < 100; ++i) pool.post([&] { ++done; });
      }
      ASSERT_EQ(done, 100);
    }
  });
}

TEST(fair_thread_pool_class, the_queue_of_a_worker_that_is_busy_is_emptied_in_turn_with_the_others) {
  with_watchdog([] {
    FairThreadPool pool(2);
    std::latch both_busy(2), end_of_first(1), end_of_second(1);
    for (std::latch* const end : {&end_of_first, &end_of_second}) {
      pool.post([&, end] {
        both_busy.count_down();
        end->wait();
      });
    }
    both_busy.wait();
    constexpr int tasks = 1'000;
    std::vector<int> order;  // of the one worker that runs them
    std::latch done(tasks);
    for (int i = 0; i < tasks; ++i) {
      pool.post([&, i] {
        order.push_back(i);
        done.count_down();
      });
    }
    end_of_second.count_down();
    done.wait();
    for (int at = 0; at < tasks; ++at) ASSERT_LE(std::abs(order[static_cast<std::size_t>(at)] - at), 2);
    end_of_first.count_down();
  });
}

TEST(fair_thread_pool_class, a_task_that_is_posted_while_the_worker_goes_to_sleep_is_not_forgotten) {
  with_watchdog([] {
    for (const int queues : {0, 1}) {
      FairThreadPool pool(1, Wake::few, queues);  // with a second worker, that one would be woken
      for (int round = 0; round < 30'000; ++round) {
        std::atomic<bool> ran = false;
        pool.post([&] { ran = true; });
        while (!ran) {
        }
      }
    }
  });
}

#ifdef COUNTS_LOCKS
TEST(fair_thread_pool_class, a_worker_that_looks_for_a_task_takes_no_lock_of_an_empty_queue) {
  with_watchdog([] {
    constexpr int queues = 1'000, tasks = 10;
    FairThreadPool pool(1, Wake::few, queues);
    const auto wait_until_it_sleeps = [&] {
      while (pool.sleeping() < 1) std::this_thread::yield();
    };
    wait_until_it_sleeps();
    const long before = locks_taken;
    for (int i = 0; i < tasks; ++i) {
      pool.post([] {});
      wait_until_it_sleeps();  // so it has looked into all queues once more
    }
    const long taken = locks_taken - before;
    EXPECT_GE(taken, 2 * tasks) << "to post a task and to take it";
    EXPECT_LT(taken, queues);
  });
}
#endif

/// All tasks in one queue.
struct OneQueue : FairThreadPool {
  explicit OneQueue(int workers) : FairThreadPool(workers, Wake::few, 1) {}
};

TEST(fair_thread_pool_class, one_queue_gives_all_workers_something_to_do_as_well) {
  pools::all_workers_take_part_and_each_is_used_again<OneQueue>();
  pools::no_task_waits_behind_a_long_one_while_a_worker_is_idle<OneQueue>();
  pools::the_destructor_waits_for_tasks_and_for_tasks_that_these_post<OneQueue>();
  pools::tasks_may_come_from_many_threads<OneQueue>();
}

TEST(fair_thread_pool_class, workers_that_were_started_end_if_another_one_cannot_be_started) {
  pools::workers_that_were_started_end_if_another_one_cannot_be_started<FairThreadPool>();
}

TEST(fair_thread_pool_class, a_pool_without_workers_is_refused) {
  pools::a_pool_without_workers_is_refused<FairThreadPool>();
}

}  // namespace

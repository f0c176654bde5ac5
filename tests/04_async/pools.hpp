/// What the pools of thread_pool and fair_thread_pool both promise, as functions that a test of each calls.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "support/waiting.hpp"

namespace pools {

using test_support::with_watchdog;

/// The ids of the workers of a pool, whose number is known. Returns when all of them sleep.
template <typename Pool>
std::set<pid_t> sleeping_workers(Pool& pool, int workers) {
  std::latch all_here(workers), all_noted(workers);
  std::mutex mutex;
  std::set<pid_t> ids;
  for (int i = 0; i < workers; ++i) {
    pool.post([&] {
      all_here.arrive_and_wait();
      {
        std::scoped_lock lock(mutex);
        ids.insert(gettid());
      }
      all_noted.count_down();
    });
  }
  all_noted.wait();
  for (const pid_t id : ids) test_support::wait_until_asleep(id);
  return ids;
}

template <typename Pool>
void all_workers_take_part_and_each_is_used_again() {
  with_watchdog([] {
    Pool pool(3);
    const std::set<pid_t> first = sleeping_workers(pool, 3);
    EXPECT_EQ(first.size(), 3U);
    EXPECT_EQ(first.count(gettid()), 0U);
    EXPECT_EQ(sleeping_workers(pool, 3), first);
  });
}

template <typename Pool>
void each_of_several_tasks_wakes_one_more_worker() {
  with_watchdog([] {
    Pool pool(3);
    for (int round = 0; round < 50; ++round) sleeping_workers(pool, 3);  // its tasks wait for each other
  });
}

template <typename Pool>
void no_task_waits_behind_a_long_one_while_a_worker_is_idle() {
  with_watchdog([] {
    for (const int workers : {2, 4}) {
      Pool pool(workers);
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

/// All tasks are in the queue before a worker takes one of them: then a worker that took several at a time would keep
/// short ones behind the long one.
template <typename Pool>
void short_tasks_that_are_posted_behind_a_long_one_do_not_wait_for_it() {
  with_watchdog([] {
    Pool pool(2);
    std::latch both_are_busy(2), all_are_posted(1), short_ones(9);
    std::promise<void> end;
    const std::shared_future<void> ended = end.get_future();
    for (int i = 0; i < 2; ++i) {
      pool.post([&] {
        both_are_busy.count_down();
        all_are_posted.wait();
      });
    }
    both_are_busy.wait();
    pool.post([ended] { ended.wait(); });
    for (int i = 0; i < 9; ++i) pool.post([&] { short_ones.count_down(); });
    all_are_posted.count_down();
    short_ones.wait();
    end.set_value();
  });
}

template <typename Pool>
void one_worker_runs_the_tasks_in_the_order_of_posting() {
  std::vector<int> order, expected;
  {
    Pool pool(1);
    for (int i = 0; i < 1'000; ++i) {
      pool.post([&, i] { order.push_back(i); });
      expected.push_back(i);
    }
  }
  EXPECT_EQ(order, expected);
}

template <typename Pool>
void the_destructor_waits_for_tasks_and_for_tasks_that_these_post() {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> done = 0;
    {
      Pool pool(2);
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

template <typename Pool>
void the_destructor_ends_workers_that_sleep() {
  with_watchdog([] {
    Pool pool(4);
    sleeping_workers(pool, 4);
  });
}

template <typename Pool>
void tasks_may_come_from_many_threads() {
  std::atomic<int> done = 0;
  {
    Pool pool(2);
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

template <typename Pool>
void workers_that_were_started_end_if_another_one_cannot_be_started() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs more memory than is allowed here";
#else
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(10);
    const rlimit some = {512 << 20, 512 << 20};  // of addresses; each thread needs some for its stack
    setrlimit(RLIMIT_AS, &some);
    try {
      Pool pool(10'000);
    } catch (const std::system_error&) {
      _exit(7);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << "status " << status;
#endif
}

template <typename Pool>
void a_pool_without_workers_is_refused() {
  EXPECT_THROW(Pool(0), std::invalid_argument);
  EXPECT_THROW(Pool(-1), std::invalid_argument);
}

}  // namespace pools

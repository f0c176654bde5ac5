// Tests a ThreadPool whose workers' loop a learner has written.

#include "thread_pool.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <latch>
#include <stdexcept>

using namespace std::chrono_literals;
using judge::expect;
using judge::within_two_seconds;

namespace {

void all_tasks_run() {
  std::atomic<int> run = 0;
  {
    ThreadPool pool(3);
    for (int i = 0; i < 2'000; ++i) pool.post([&] { ++run; });
  }
  expect(run == 2'000, "Tasks that were handed in before the end of the pool have not run, or have run twice.");
  ThreadPool pool(1);
  std::vector<int> order;
  for (int i = 0; i < 10; ++i) pool.post([&order, i] { order.push_back(i); });
  pool.submit([] {}).get();
  expect(order == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "One worker does not run the oldest task first.");
}

void tasks_run_at_the_same_time() {
  ThreadPool pool(3);
  std::atomic<int> run = 0, inside = 0;
  for (int i = 2; i <= 20'000; i += 2) {  // often one worker has run both before another one that was woken looks
    pool.post([&] { ++run; });
    pool.post([&] { ++run; });
    const auto end = std::chrono::steady_clock::now() + 2s;
    while (run < i && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    expect(run >= i, "Three workers do not run three tasks at the same time.");  // not even one is left
  }
  for (int i = 0; i < 3; ++i) {
    pool.post([&] {
      ++inside;
      expect(within_two_seconds([&] { return inside == 3; }), "Three workers do not run three tasks at the same time.");
    });
  }
  expect(within_two_seconds([&] { return inside == 3; }), "Three workers do not run three tasks at the same time.");
}

void a_task_hands_in_another() {
  ThreadPool pool(1);
  std::atomic<bool> done = false;
  pool.post([&] { pool.post([&] { done = true; }); });
  expect(within_two_seconds([&] { return done.load(); }), "A task cannot hand in another one.");
  expect(pool.submit([] { return 42; }).get() == 42, "A future does not get the result.");
  auto failing = pool.submit([]() -> int { throw std::runtime_error("wanted"); });
  bool caught = false;
  try {
    failing.get();
  } catch (const std::runtime_error&) {
    caught = true;
  }
  expect(caught, "A future does not get the exception.");
}

void a_worker_sleeps() {
  ThreadPool pool(1);
  const pid_t id = pool.submit([] { return gettid(); }).get();
  expect(judge::sleeps(id), "A worker keeps its processor busy while there is no task.");
}

/// What a task holds is given back when it has run, and not when the next one comes.
void a_task_is_destroyed() {
  ThreadPool pool(1);
  const auto held = std::make_shared<int>(1);
  pool.post([held] {});
  expect(within_two_seconds([&] { return held.use_count() == 1; }), "A task that has run is not destroyed.");
}

}  // namespace

int main() {
  ThreadPool(1).submit([] {}).get();  // an exception of several workers at once may hide its text
  all_tasks_run();
  a_worker_sleeps();
  tasks_run_at_the_same_time();
  a_task_hands_in_another();
  a_task_is_destroyed();
  std::puts("all tasks have run");
}

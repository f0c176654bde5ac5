// The program's output, and ProcessPool from inside.

#include "03_processes/process_pool/pool.hpp"

#include <sys/wait.h>

#include <atomic>
#include <numeric>
#include <set>

#include "support/run.hpp"

namespace {

using test_support::run;

std::vector<long> numbers_up_to(long end) {
  std::vector<long> numbers(end);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

long square(long x) { return x * x; }

std::vector<long> squares_up_to(long end) {
  std::vector<long> squares = numbers_up_to(end);
  for (long& value : squares) value = square(value);
  return squares;
}

/// Takes another time for each x, later ones often less.
long square_some_time(long x) {
  std::this_thread::sleep_for(std::chrono::microseconds(x * 7919 % 13 * 50));
  return x * x;
}

long process_of_it(long x) {
  square_some_time(x);
  return getpid();
}

long square_but_not_of_42(long x) {
  if (x == 42) throw std::runtime_error("42 has no square");
  return x * x;
}

std::atomic<bool>* gate = nullptr;  // in shared memory

long square_behind_the_gate(long x) {
  while (!*gate) std::this_thread::sleep_for(std::chrono::microseconds(100));
  return x * x;
}

TEST(process_pool, a_hundred_squares_in_order) {
  const auto result = run("process_pool");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.out.front(), "Pool      : 0, ..., 9801");
  EXPECT_TRUE(result.has_line("ok    map gives what a loop gives, in the same order: yes")) << result.text();
  EXPECT_TRUE(result.has_line("ok    apply_async and its callback: [64, 64]")) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  EXPECT_TRUE(result.err.empty()) << result.text();
}

TEST(process_pool, any_number_of_workers_and_tasks_will_do) {
  for (const std::string processes : {"1", "64"}) {
    const auto result = run("process_pool", {"--processes", processes, "--items", "1"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
  // More than fit into the queues at once.
  const auto result = run("process_pool", {"--items", "200000"});
  EXPECT_TRUE(result.has_line("ok    map gives what a loop gives, in the same order: yes")) << result.text();
  EXPECT_EQ(result.out.front(), "Pool      : 0, ..., 39999600001");
}

TEST(process_pool, results_are_in_order_though_later_tasks_end_earlier) {
  ProcessPool pool(4);
  for (const std::size_t chunk : {0U, 1U, 3U, 1000U}) {
    EXPECT_EQ(pool.map(square_some_time, numbers_up_to(100), chunk), squares_up_to(100)) << chunk;
  }
  EXPECT_EQ(pool.map(square, {}), std::vector<long>());
  EXPECT_EQ(pool.map(square, numbers_up_to(20'000), 1), squares_up_to(20'000));
  EXPECT_EQ(ProcessPool::chunk_size(100, 4), 7U);  // 14 chunks of 7 and one of 2
  EXPECT_EQ(ProcessPool::chunk_size(1, 4), 1U);
}

TEST(process_pool, the_tasks_are_done_by_the_workers_and_by_nobody_else) {
  ProcessPool pool(4);
  const std::vector<long> ids = pool.map(process_of_it, numbers_up_to(100), 1);
  const std::set<long> workers(ids.begin(), ids.end());
  EXPECT_LE(workers.size(), 4U);
  EXPECT_FALSE(workers.contains(getpid()));
}

TEST(process_pool, the_async_methods_return_before_their_tasks_are_done) {
  const Shared<std::atomic<bool>> shared(false);
  gate = &*shared;
  ProcessPool pool(2);
  auto all = pool.map_async(square_behind_the_gate, numbers_up_to(50));
  auto one = pool.apply_async(square_behind_the_gate, 9);
  EXPECT_EQ(all.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(one.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  *gate = true;  // if a call had waited for its tasks, this line would never be reached
  EXPECT_EQ(all.get(), squares_up_to(50));
  EXPECT_EQ(one.get(), 81);
}

TEST(process_pool, callbacks_come_one_at_a_time_and_before_the_future_is_ready) {
  ProcessPool pool(4);
  std::vector<long> squares;  // no lock: who gets a future's value sees what its callback has done
  std::set<std::thread::id> threads;
  std::atomic<int> inside = 0;
  std::vector<std::future<long>> futures;
  for (long i = 0; i < 20; ++i) {
    futures.push_back(pool.apply_async(square, i, [&](long result) {
      EXPECT_EQ(++inside, 1);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      squares.push_back(result);
      threads.insert(std::this_thread::get_id());
      --inside;
    }));
  }
  for (std::future<long>& future : futures) future.get();
  std::sort(squares.begin(), squares.end());
  EXPECT_EQ(squares, squares_up_to(20));
  EXPECT_EQ(threads.size(), 1U);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

TEST(process_pool, a_task_that_throws_hands_its_error_to_the_caller_and_the_pool_goes_on) {
  ProcessPool pool(2);
  int called = 0;
  auto failing = pool.map_async(square_but_not_of_42, numbers_up_to(100), [&](const auto&) { ++called; });
  try {
    failing.get();
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "42 has no square");
  }
  EXPECT_EQ(called, 0);
  EXPECT_EQ(pool.map(square, numbers_up_to(100)), squares_up_to(100));
  EXPECT_THROW(pool.apply([](long) -> long { throw std::runtime_error(std::string(1000, 'x')); }, 1),
               std::runtime_error);
}

TEST(process_pool, the_destructor_finishes_what_has_been_submitted) {
  std::future<std::vector<long>> last;
  {
    ProcessPool pool(2);
    last = pool.map_async(square_some_time, numbers_up_to(50), {}, 1);
  }
  EXPECT_EQ(last.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // no child is left
  EXPECT_EQ(last.get(), squares_up_to(50));
}

TEST(process_pool, the_workers_end_with_the_program) {
  for (const test_support::RunOptions& setting :
       {test_support::RunOptions{.interrupt_after_ms = 100}, test_support::RunOptions{.kill_after_ms = 100}}) {
    const auto result = run("process_pool_bench", {"--tasks", "10000000", "--rounds", "100"}, setting);
    EXPECT_EQ(result.exit_code, setting.kill_after_ms > 0 ? -9 : -2) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

}  // namespace

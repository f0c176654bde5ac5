// The program's output, and ProcessPool and the rows from inside.

#define main main_of_the_program
#include "03_processes/process_pool/process_pool.cpp"
#undef main

#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <stdexcept>

#include "support/run.hpp"

namespace {

using test_support::run;

std::vector<long> numbers_up_to(long end) {
  std::vector<long> numbers(end);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

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

TEST(process_pool, what_callers_get) {
  const auto result = run("process_pool");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string line :
       {"results of map that differ from the loop's: 0", "apply, apply_async and its callback: [49, 64, 64]",
        "the caller of a task that throws gets: 7 is refused"}) {
    EXPECT_TRUE(result.has_line("ok    " + line)) << line << '\n' << result.text();
  }
  EXPECT_EQ(result.leaked_processes, 0);
  EXPECT_TRUE(result.err.empty()) << result.text();
}

/// Checks one row per length of task and gives the time of one task in the loop, in us, from the shortest task to the
/// longest.
std::vector<double> loop_times_of_checked_rows(const test_support::Result& result) {
  std::vector<double> in_loop;
  for (const std::string task : {"x \\* x", "100 steps", "1,000 steps", "10,000 steps", "100,000 steps"}) {
    const std::string row = "^" + task + " +(\\d+\\.\\d{3}) us";
    const auto loop = result.captures(row + " .* x$");
    EXPECT_EQ(loop.size(), 1U) << result.text();
    if (loop.size() != 1) return {};
    in_loop.push_back(std::stod(loop[0]));
    for (const std::string before : {"", " +\\S+ us +\\S+ x"}) {
      const auto cost = result.captures("^" + task + " +\\S+ us" + before + " +(\\d+\\.\\d{3}) us"),
                 times = result.captures("^" + task + " +\\S+ us" + before + " +\\S+ us +(\\d+\\.\\d\\d) x");
      EXPECT_EQ(cost.size() + times.size(), 2U) << result.text();
      if (cost.size() + times.size() != 2) return {};
      if (in_loop.back() > 0.05) {  // of three digits at least two count
        EXPECT_NEAR(std::stod(times[0]), in_loop.back() / std::stod(cost[0]), 0.02 + 0.03 * std::stod(times[0]));
      }
    }
  }
  return in_loop;
}

TEST(process_pool, prints_what_a_task_of_each_length_costs_in_each_form_and_how_many_times_as_fast_that_is) {
  std::string seen;
  for (int attempt = 0; attempt < 10; ++attempt) {  // 500 short tasks last less than one turn of another program
    const auto result = run("process_pool", {"--items", "500"});
    EXPECT_TRUE(result.lines_with("^500 tasks .* in chunks of 100$").size() == 1) << result.text();
    const std::vector<double> in_loop = loop_times_of_checked_rows(result);
    ASSERT_EQ(in_loop.size(), 5U);
    bool each_at_least_three_times_the_one_before = true;
    for (const std::size_t i : {2U, 3U, 4U})
      each_at_least_three_times_the_one_before &= in_loop[i] > 3 * in_loop[i - 1];
    if (each_at_least_three_times_the_one_before) return;
    seen = result.text();
  }
  FAIL() << "ten times as many steps never took three times as long\n" << seen;
}

TEST(process_pool, the_costs_add_up_to_no_more_than_the_run) {
  constexpr double tasks = 4'000;
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("process_pool", {"--items", "4000"});
  const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
  double counted = 0;
  for (const std::string column : {"", "\\S+ us +", "\\S+ us +\\S+ us +\\S+ x +"}) {
    for (const std::string& cost : result.captures("^.{14} +" + column + "(\\d+\\.\\d+) us")) {
      counted += std::stod(cost) * tasks * 3;  // the shortest of three runs
    }
  }
  EXPECT_GT(counted, 0);
  EXPECT_LE(counted, us.count()) << result.text();
}

TEST(process_pool_timing, the_shortest_tasks_cost_far_less_in_chunks) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto result = run("process_pool");
    const auto ones = result.captures("^x \\* x +\\S+ us +(\\S+) us"),
               chunks = result.captures("^x \\* x .* (\\S+) us +\\S+ x$");
    ASSERT_EQ(ones.size() + chunks.size(), 2U) << result.text();
    if (std::stod(ones[0]) > 5 * std::stod(chunks[0])) return;
  }
  FAIL() << "one by one, squares cost no more than five times as much as in chunks";
}

struct Meetings {
  pid_t main;
  std::atomic<int> come = 0, met = 0;
};
Meetings* meetings = nullptr;  // in shared memory

/// In a worker, a task with the argument 0 or `other` waits a while until the other one has come, too.
template <long other>
long meet(long x) {
  if (getpid() == meetings->main || (x != 0 && x != other)) return x;
  const int both = (++meetings->come + 1) / 2 * 2;
  const bool first = meetings->come < both;
  for (int i = 0; i < 200 && meetings->come < both; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  meetings->met += first && meetings->come >= both;
  return x;
}

TEST(process_pool_print_row, one_by_one_no_two_tasks_are_in_a_chunk_and_in_chunks_a_hundred_are) {
  const Shared<Meetings> shared(getpid());
  meetings = &*shared;
  ProcessPool pool(2);
  const auto met = [&](long (*task)(long), long tasks) {
    meetings->come = meetings->met = 0;
    EXPECT_EQ(print_row("meet", pool, task, numbers_up_to(tasks)), 0);
    return meetings->met.load();
  };
  int pair = 0, in_one_chunk = 6, in_two = 0;
  for (int attempt = 0; attempt < 5 && (pair == 0 || in_one_chunk > 3 || in_two <= 3); ++attempt) {
    pair = met(meet<1>, 2);             // one by one, at most one meeting per round
    in_one_chunk = met(meet<99>, 100);  // the first and the hundredth task
    in_two = met(meet<100>, 101);       // the first and the one behind the hundredth: in both forms
  }
  EXPECT_GT(pair, 0) << "one by one, two tasks are never done at the same time";
  EXPECT_LE(in_one_chunk, 3) << "the hundredth task is not in the first one's chunk";
  EXPECT_GT(in_two, 3) << "a chunk has more than a hundred tasks";
}

TEST(process_pool_chunk, no_more_than_the_numbers_in_use_are_copied) {
  Chunk from = {}, to = {};
  from.count = 2;
  from.values[1] = from.values[2] = 7;
  copy(from, to);
  EXPECT_EQ(to.count, 2U);
  EXPECT_EQ(to.values[1], 7);
  EXPECT_EQ(to.values[2], 0);
}

TEST(process_pool, any_number_of_workers_and_tasks_will_do) {
  for (const std::string processes : {"1", "64"}) {
    const auto result = run("process_pool", {"--processes", processes, "--items", "1"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST(process_pool, results_are_in_order_though_later_tasks_end_earlier) {
  ProcessPool pool(4);
  for (const std::size_t chunk : {0U, 1U, 3U, 1000U}) {
    EXPECT_EQ(pool.map(square_some_time, numbers_up_to(100), chunk), squares_up_to(100)) << chunk;
  }
  EXPECT_EQ(pool.map(square, {}), std::vector<long>());
  EXPECT_EQ(pool.map(square, numbers_up_to(20'000), 1), squares_up_to(20'000));
  EXPECT_EQ(pool.map(square, numbers_up_to(20'000)), squares_up_to(20'000)) << "chunks of 500, not of 1250";
  EXPECT_EQ(ProcessPool::chunk_size(100, 4), 7U);  // 14 chunks of 7 and one of 2
  EXPECT_EQ(ProcessPool::chunk_size(1, 4), 1U);
}

std::atomic<bool>* last_has_begun = nullptr;  // in shared memory

/// Waits for the last of the tasks, which has the argument -1, up to so many ms. Gives the process that does it.
long process_that_waits(long ms) {
  if (ms == -1) *last_has_begun = true;
  for (long i = 0; i < ms && !*last_has_begun; ++i) usleep(1000);
  return getpid();
}

TEST(process_pool, a_chunk_has_up_to_500_tasks_and_never_more) {
  const Shared<std::atomic<bool>> shared(false);
  last_has_begun = &*shared;
  ProcessPool pool(2);
  for (const std::size_t tasks : {500U, 501U}) {
    *last_has_begun = false;
    std::vector<long> arguments(tasks);
    arguments.front() = tasks == 500 ? 200 : 20'000;  // in vain if the last one is in the same chunk
    arguments.back() = -1;
    const std::vector<long> workers = pool.map(process_that_waits, arguments, 1000);
    EXPECT_EQ(std::count(workers.begin(), workers.end(), workers.front()), 500) << tasks;
  }
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

TEST(process_pool, an_error_without_a_text_is_an_error) {
  ProcessPool pool(2);
  const auto fail = [](long x) -> long {
    if (x == 3) throw std::runtime_error("");
    return x * x;
  };
  EXPECT_THROW(pool.apply(fail, 3), std::runtime_error);
  EXPECT_THROW(pool.map(fail, numbers_up_to(4)), std::runtime_error);
  EXPECT_EQ(pool.map(fail, numbers_up_to(3)), squares_up_to(3));
}

TEST(process_pool, a_task_may_throw_anything_and_its_worker_goes_on) {
  ProcessPool pool(1);
  const pid_t worker = static_cast<pid_t>(pool.apply(process_of_it, 1));
  std::future<long> thrown = pool.apply_async([](long) -> long { throw 7; }, 1);
  ASSERT_EQ(thrown.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_THROW(thrown.get(), std::runtime_error);
  EXPECT_EQ(pool.apply(process_of_it, 1), worker);
}

TEST(process_pool, what_a_callback_throws_its_future_throws_and_the_pool_goes_on) {
  ProcessPool pool(2);
  std::future<long> one = pool.apply_async(square, 3, [](long) { throw std::out_of_range("the callback"); });
  std::future<std::vector<long>> all = pool.map_async(square, numbers_up_to(100), [](const auto&) { throw 7; });
  EXPECT_THROW(one.get(), std::out_of_range);
  EXPECT_THROW(all.get(), int);
  EXPECT_EQ(pool.map(square, numbers_up_to(100)), squares_up_to(100));
}

TEST(process_pool, the_callback_for_an_empty_list_runs_in_the_collectors_thread_too) {
  ProcessPool pool(2);
  std::thread::id empty, full;
  pool.map_async(square, {},
                 [&](const std::vector<long>& results) {
                   EXPECT_TRUE(results.empty());
                   empty = std::this_thread::get_id();
                 })
      .get();
  pool.map_async(square, {1}, [&](const auto&) { full = std::this_thread::get_id(); }).get();
  EXPECT_NE(full, std::thread::id());
  EXPECT_EQ(empty, full);
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

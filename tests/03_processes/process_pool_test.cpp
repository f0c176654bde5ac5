// Process pool: the program seen from outside. Catalogue: 3.C4, 3.12.

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;

std::string squares_up_to(long end) {
  std::string text = "[";
  for (long i = 0; i < end; ++i) text += (i > 0 ? ", " : "") + std::to_string(i * i);
  return text + "]";
}

void expect_lines(const Result& result, const std::vector<std::string>& checks) {
  for (const std::string& check : checks) EXPECT_TRUE(result.has_line("ok    " + check)) << check << result.text();
}

TEST(process_pool, a_hundred_squares_in_order_by_all_four_methods) {
  const auto result = run("process_pool", {"--measure", "0"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.out.front(), "Pool      : [0, 1, 4, 9, 16, ..., 9604, 9801]");
  expect_lines(result, {"map: the same as in one process: yes", "map: sum: 328350",
                        "map: in order, though later tasks often end earlier: yes",
                        "chunks of 100 tasks for 4 workers, each of: 7", "apply, one by one: the same: yes",
                        "apply_async: back before the task is done, then the same: yes",
                        "map_async: back before a task is done, then the same: yes"});
  EXPECT_EQ(result.left_behind, 0);
  EXPECT_TRUE(result.err.empty()) << result.text();
}

TEST(process_pool, any_number_of_workers_and_tasks_will_do) {
  for (const std::string processes : {"1", "3", "64"}) {
    for (const int items : {0, 1, 20}) {
      if (processes == "3" && items > 0) continue;
      const auto result =
          run("process_pool", {"--processes", processes, "--items", std::to_string(items), "--measure", "0"});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(result.out.front(), "Pool      : " + squares_up_to(items));
      const auto worked = result.captures("^ok    processes that worked: (\\d+)$");
      ASSERT_EQ(worked.size(), 1U);
      EXPECT_LE(std::stoi(worked[0]), std::stoi(processes));
      expect_lines(result, {"processes that worked: the caller is none of them: yes"});
      EXPECT_EQ(result.left_behind, 0);
    }
  }
  // More than fit into the shared memory at once.
  EXPECT_TRUE(
      run("process_pool", {"--items", "200000", "--measure", "0"}).has_line("ok    map: sum: 2666646666700000"));
}

TEST(process_pool, errors_callbacks_and_deaths) {
  const auto result = run("process_pool", {"--measure", "0"});
  expect_lines(
      result,
      {"callbacks: results: [0, 1, 4, 9, 16]", "callbacks: by one thread, not the caller's, never two at once: yes",
       "a task that throws: task 42: 42 has no square", "a task that throws: callbacks called: 0",
       "a task that throws: the next one: 81", "10 workers died at a task: the same squares: yes",
       "10 workers died at a task: replaced: 10", "10 workers died at a task: tasks begun again: 10",
       "workers killed from outside: the same squares: yes",
       "a task that kills every worker: task 5: its worker died, three times",
       "a task that kills every worker: begun again: 2", "a task that kills every worker: the pool goes on: yes",
       "a pool whose processes were all killed: the processes of the pool have died",
       "a pool whose processes were all killed, asked again: the pool is closed"});
  const auto again = result.captures("killed from outside: tasks begun again, at most one for each: (\\d+)$");
  ASSERT_EQ(again.size(), 1U) << result.text();
  EXPECT_LE(std::stoi(again[0]), 10);
}

TEST(process_pool, a_closed_pool_rejects_tasks_and_ends_in_order) {
  const auto result = run("process_pool", {"--measure", "100"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  expect_lines(result,
               {"join before close: join() of a pool that is not closed", "a task after close: the pool is closed",
                "tasks from before it: " + squares_up_to(10), "after join no process of the pool is left: yes"});
}

TEST(process_pool, ctrl_c_and_a_kill_leave_nothing_behind) {
  for (const test_support::Setting& setting :
       {test_support::Setting{.interrupt_after_ms = 100}, test_support::Setting{.kill_after_ms = 100}}) {
    const auto result = run("process_pool", {"--measure", "10000000"}, setting);
    EXPECT_EQ(result.exit_code, setting.kill_after_ms > 0 ? -9 : -2) << result.text();
    EXPECT_EQ(result.left_behind, 0);
  }
}

}  // namespace

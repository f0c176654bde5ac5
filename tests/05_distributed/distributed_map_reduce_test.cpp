// The program's output for several numbers of ranks.

#include <string>

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;
using test_support::run_ranks;

double seconds(const Result& result, const std::string& what) {
  const auto found = result.captures("^" + what + ": ([\\d.]+) s$");
  return found.size() == 1 ? std::stod(found[0]) : -1;
}

TEST(distributed_map_reduce, the_sum_does_not_depend_on_the_number_of_ranks) {
  for (const int ranks : {1, 2, 4, 8}) {
    const auto result = run_ranks(ranks, "distributed_map_reduce", {"--task-us", "0"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    sum by map_reduce: 332833500")) << result.text();
    EXPECT_TRUE(result.has_line("ok    results in the order of the tasks: [0, 1, 4]")) << result.text();
  }
}

TEST(distributed_map_reduce, a_sum_of_more_than_32_bits_is_right) {
  const auto result = run_ranks(3, "distributed_map_reduce", {"--task-us", "0", "--tasks", "2000"});
  EXPECT_TRUE(result.has_line("ok    sum by map_reduce: 2664667000")) << result.text();
}

TEST(distributed_map_reduce, few_tasks_or_none_are_no_problem) {
  for (const auto& [tasks, sum] : {std::pair{"0", "0"}, {"1", "0"}, {"2", "1"}, {"3", "5"}}) {
    const auto result = run_ranks(4, "distributed_map_reduce", {"--tasks", tasks});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line(std::string("ok    sum by map_reduce: ") + sum)) << result.text();
  }
}

TEST(distributed_map_reduce, results_come_in_the_order_in_which_they_are_ready) {
  // Three workers do the three tasks at the same time, and the last task is the shortest.
  const auto expect_order = [](int ranks, const std::string& order) {
    const auto result = run_ranks(ranks, "distributed_map_reduce", {"--tasks", "1"});
    EXPECT_TRUE(result.has_line("ok    results as they are ready: " + order)) << result.text();
  };
  expect_order(4, "[4, 1, 0]");
  expect_order(3, "[1, 4, 0]");
  expect_order(2, "[0, 1, 4]");
  expect_order(1, "[0, 1, 4]");
}

TEST(distributed_map_reduce, it_takes_as_long_as_the_tasks_need) {
  const auto result = run_ranks(4, "distributed_map_reduce", {"--tasks", "60", "--task-us", "10000"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_GE(seconds(result, "plain loop"), 0.6);
  EXPECT_GE(seconds(result, "map_reduce"), 0.2);
}

TEST(distributed_map_reduce, a_worker_that_is_killed_ends_the_job_with_a_message) {
  const std::string program = test_support::bin() + "/distributed_map_reduce";
  const auto result = run("/usr/bin/mpirun",
                          {"--allow-run-as-root", "--oversubscribe", "-n", "2", program, "--task-us", "100000", ":",
                           "-n", "1", "/usr/bin/timeout", "-s", "KILL", "1", program, "--task-us", "100000"},
                          {.environment = {{"OMPI_MCA_odls_base_sigkill_timeout", "0"}, {"EVENT_NOEPOLL", "1"}}});
  EXPECT_FALSE(result.timed_out);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.text().find("rank 2"), std::string::npos) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(distributed_map_reduce_timing, three_workers_are_nearly_three_times_as_fast) {
  const auto result = run_ranks(4, "distributed_map_reduce", {"--tasks", "300", "--task-us", "10000"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_GT(seconds(result, "plain loop") / seconds(result, "map_reduce"), 2.7) << result.text();
}

}  // namespace

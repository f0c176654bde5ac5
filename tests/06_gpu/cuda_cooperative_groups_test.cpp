// The programs seen from outside.

#include <fmt/format.h>

#include <cstdio>
#include <sstream>
#include <string>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

TEST(cuda_cooperative_groups, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_cooperative_groups", "cuda_cooperative_groups_ordinary_launch"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_cooperative_groups, one_launch_equals_two_for_any_grid) {
  // One block; fewer blocks than a tile has threads, and more; as many as run at once.
  for (const std::string blocks : {"1", "2", "31", "33", "100", "65536", "0"}) {
    const auto result = run("cuda_cooperative_groups", {"--blocks", blocks});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << blocks << '\n' << result.text();
    for (const std::string time : {"an empty kernel, launched by the host", "an empty kernel, launched in a graph",
                                   "a barrier for the whole grid", "two launches: add up; load again and divide",
                                   "one launch: add up, wait, divide"}) {
      EXPECT_EQ(result.lines_with("^" + time + " +[0-9.]+ us$").size(), 1U) << result.text();
    }
    for (const std::string check :
         {"values that are not right after two launches: 0", "values that differ in one launch: 0",
          "a grid with one block too many: too many blocks in cooperative launch"}) {
      EXPECT_TRUE(result.has_line("ok    " + check)) << result.text();
    }
  }
}

TEST(cuda_cooperative_groups_timing, one_launch_is_faster_than_two) {
  const auto result = run("cuda_cooperative_groups");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto two = result.captures("^two launches.* ([0-9.]+) us$"),
             one = result.captures("^one launch.* ([0-9.]+) us$");
  ASSERT_EQ(two.size(), 1U) << result.text();
  ASSERT_EQ(one.size(), 1U) << result.text();
  EXPECT_LT(std::stod(one[0]), std::stod(two[0])) << result.text();
}

TEST(cuda_cooperative_groups, blocks_that_do_not_run_keep_the_others_waiting) {
  const auto result = run("cuda_cooperative_groups_ordinary_launch");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 1) << result.text();
  const auto given_up = result.captures("^([0-9]+) blocks have given up, [0-9]+ values are wrong$");
  ASSERT_EQ(given_up.size(), 1U) << result.text();
  EXPECT_GT(std::stoi(given_up[0]), 0) << result.text();
}

TEST(cuda_cooperative_groups, each_thread_of_a_block_of_1024_has_16_values) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto [result, record] = cuda_test::run_without_device("cuda_cooperative_groups", {"--blocks", "3"});
  // No kernel is run, so every value is wrong.
  EXPECT_TRUE(
      result.has_line(fmt::format("FAIL  values that are not right after two launches: {}, expected 0", 3 * 1024 * 16)))
      << result.text();
}

TEST(cuda_cooperative_groups, each_time_is_the_shortest_of_three_with_50_repetitions) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto [result, record] = cuda_test::run_without_device("cuda_cooperative_groups", {"--blocks", "3"});
  int launches = 0, number = 0, times = 0;
  std::istringstream lines(record);
  for (std::string line; std::getline(lines, line);) {
    if (std::sscanf(line.c_str(), "place %d was reached %d times", &number, &times) == 2) launches += times;
  }
  const int for_the_results = 2 + 1, too_large = 1;  // in two launches and in one
  const int by_the_host = 3 * (50 + 1);              // empty kernels, and one kernel with 50 barriers
  const int recorded = 50 * (1 + 2 + 1);             // once for all three times: an empty kernel, two launches, one
  EXPECT_EQ(launches, for_the_results + by_the_host + recorded + too_large) << record << result.text();
}

TEST(cuda_cooperative_groups, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_cooperative_groups", {{"--blocks", "3"}, {"--blocks", "32"}}, {"memcheck", "racecheck"},
                          {"--report-api-errors", "no",  // the grid that is too large is meant to be refused
                           "--launch-count", "8"});      // those behind only repeat the first for their times
}

}  // namespace

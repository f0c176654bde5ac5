// The programs seen from outside.

#include <fmt/format.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

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

/// The rows of the output: the barrier, then the time of the wait alone and that of a whole step. The brackets of
/// `wait` and `step` catch a time, in microseconds.
std::vector<std::string> rows(const std::string& wait, const std::string& step) {
  std::vector<std::string> all;
  for (const std::string barrier :
       {"a launch per step, from the host", "a launch per step, in a graph",
        "a barrier in the kernel, numbers loaded again", "a barrier in the kernel, numbers kept"}) {
    all.push_back(fmt::format("^{} +{} us +{} us$", barrier, wait, step));
  }
  return all;
}
const std::string number = "[0-9.]+", caught = "([0-9.]+)";

TEST(cuda_cooperative_groups, finds_the_median_in_any_grid) {
  // One block, a few, as many as run at once.
  for (const std::string blocks : {"1", "2", "31", "100", "65536", "0"}) {
    const auto result = run("cuda_cooperative_groups", {"--blocks", blocks});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << blocks << '\n' << result.text();
    EXPECT_EQ(result.out.size(), 8U) << result.text();
    for (const std::string& row : rows(number, number)) EXPECT_EQ(result.lines_with(row).size(), 1U) << result.text();
    for (const std::string check : {"ways that find another median than the processor: 0",
                                    "a grid with one block too many: too many blocks in cooperative launch"}) {
      EXPECT_TRUE(result.has_line("ok    " + check)) << result.text();
    }
  }
}

TEST(cuda_cooperative_groups_timing, keeping_the_numbers_is_faster_than_loading_them_again) {
  const auto result = run("cuda_cooperative_groups");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  std::vector<double> waits, whole;
  for (const std::string& row : rows(caught, number)) {
    for (const std::string& time : result.captures(row)) waits.push_back(std::stod(time));
  }
  for (const std::string& row : rows(number, caught)) {
    for (const std::string& time : result.captures(row)) whole.push_back(std::stod(time));
  }
  ASSERT_EQ(waits.size(), 4U) << result.text();
  ASSERT_EQ(whole.size(), 4U) << result.text();
  EXPECT_LT(waits[1], waits[0]) << result.text();  // in a graph the host is not needed
  EXPECT_GT(waits[2], waits[1]) << result.text();  // the barrier alone gains nothing
  EXPECT_EQ(waits[2], waits[3]) << result.text();
  for (const int i : {1, 2, 3}) EXPECT_LT(waits[i], whole[i]) << result.text();
  EXPECT_LT(whole[3], 0.8 * whole[1]) << result.text();
  EXPECT_LT(whole[3], whole[2]) << result.text();
}

TEST(cuda_cooperative_groups, blocks_that_do_not_run_keep_the_others_waiting) {
  const auto result = run("cuda_cooperative_groups_ordinary_launch");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 1) << result.text();
  const auto given_up = result.captures("^([0-9]+) blocks have given up, [0-9]+ values are wrong$");
  ASSERT_EQ(given_up.size(), 1U) << result.text();
  EXPECT_GT(std::stoi(given_up[0]), 0) << result.text();
}

TEST(cuda_cooperative_groups, each_thread_of_a_block_of_1024_has_16_numbers) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto [result, record] = cuda_test::run_without_device("cuda_cooperative_groups", {"--blocks", "3"});
  EXPECT_TRUE(result.has_line(fmt::format("the median of {} numbers in 24 steps", 3 * 1024 * 16))) << result.text();
  // No kernel is run, so no number is ever below a limit.
  EXPECT_TRUE(result.has_line("FAIL  ways that find another median than the processor: 3, expected 0"))
      << result.text();
}

TEST(cuda_cooperative_groups, each_time_is_that_of_a_step_and_the_shortest_of_three_with_20_repetitions) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto [result, record] = cuda_test::run_without_device("cuda_cooperative_groups", {"--blocks", "3"});
  int launches = 0, place = 0, times = 0;
  std::istringstream lines(record);
  for (std::string line; std::getline(lines, line);) {
    if (std::sscanf(line.c_str(), "place %d was reached %d times", &place, &times) == 2) launches += times;
  }
  const int for_the_results = 24 + 1 + 1, too_large = 1;  // a launch for each of 24 steps, and twice one for all
  const int from_the_host = 3 * 20 * (24 + 24);           // empty kernels, and steps
  const int recorded = 20 * (24 + 24 + 1 + 1 + 1);        // once for all three times: the same, and three of one launch
  EXPECT_EQ(launches, for_the_results + from_the_host + recorded + too_large) << record << result.text();
  // Where no device is, 20 repetitions of 24 steps take 1 ms.
  for (const std::string& row : rows("2\\.08", "2\\.08")) {
    EXPECT_EQ(result.lines_with(row).size(), 1U) << result.text();
  }
}

TEST(cuda_cooperative_groups, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_cooperative_groups", {{"--blocks", "3"}, {"--blocks", "32"}}, {"memcheck", "racecheck"},
                          {"--report-api-errors", "no",  // the grid that is too large is meant to be refused
                           "--launch-count", "30"});     // those behind only repeat the first for their times
}

}  // namespace

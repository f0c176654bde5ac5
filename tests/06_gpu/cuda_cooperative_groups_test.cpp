// The programs seen from outside.

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "cookbook/cuda.hpp"
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

TEST(cuda_cooperative_groups, the_counts_are_the_same_in_any_grid_and_lead_to_the_median) {
  // One block, a few, as many as run at once.
  for (const std::string blocks : {"1", "2", "31", "100", "65536", "0"}) {
    const auto result = run("cuda_cooperative_groups", {"--blocks", blocks});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << blocks << '\n' << result.text();
    for (const std::string time : {"an empty kernel, launched by the host", "an empty kernel, launched in a graph",
                                   "a barrier for the whole grid", "24 steps, a launch for each, in a graph",
                                   "24 steps in one launch, each loads again", "24 steps in one launch, loaded once"}) {
      EXPECT_EQ(result.lines_with("^" + time + " +[0-9.]+ us$").size(), 1U) << result.text();
    }
    for (const std::string check :
         {"the median lies there: yes", "the counts of all steps are the same three times: yes",
          "a grid with one block too many: too many blocks in cooperative launch"}) {
      EXPECT_TRUE(result.has_line("ok    " + check)) << result.text();
    }
  }
}

// By the definition: as many numbers as half of all are below the median or equal to it.
TEST(cuda_cooperative_groups, the_last_interval_holds_one_of_the_numbers_and_has_half_of_them_below) {
  const auto result = run("cuda_cooperative_groups", {"--blocks", "1"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const std::string line = "^16384 numbers, their median is at least ";
  const auto low = result.captures(line + "(-?[0-9.]+) and below"),
             high = result.captures(line + ".* below (-?[0-9.]+)$");
  ASSERT_EQ(low.size(), 1U) << result.text();
  ASSERT_EQ(high.size(), 1U) << result.text();
  const double last_digit = 0.6e-8;
  EXPECT_NEAR(std::stod(high[0]) - std::stod(low[0]), 0x1p-24, 2 * last_digit) << result.text();
  int below = 0, inside = 0;
  for (unsigned i = 0; i < 16384; ++i) {
    const double number = std::abs(gpu::random_number(5, i));
    below += number < std::stod(low[0]) - last_digit;
    inside += number >= std::stod(low[0]) - last_digit && number < std::stod(high[0]) + last_digit;
  }
  EXPECT_LE(below, 8192) << result.text();
  EXPECT_GT(below + inside, 8192) << result.text();
  EXPECT_GE(inside, 1);
}

TEST(cuda_cooperative_groups_timing, keeping_the_numbers_is_faster_than_loading_them_again) {
  const auto result = run("cuda_cooperative_groups");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto many = result.captures("^24 steps, a launch for each.* ([0-9.]+) us$"),
             loading = result.captures("loads again +([0-9.]+) us$"),
             one = result.captures("loaded once +([0-9.]+) us$");
  ASSERT_EQ(many.size(), 1U) << result.text();
  ASSERT_EQ(loading.size(), 1U) << result.text();
  ASSERT_EQ(one.size(), 1U) << result.text();
  EXPECT_LT(std::stod(one[0]), 0.8 * std::stod(many[0])) << result.text();
  EXPECT_LT(std::stod(one[0]), std::stod(loading[0])) << result.text();
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
  EXPECT_EQ(result.lines_with(fmt::format("^{} numbers, ", 3 * 1024 * 16)).size(), 1U) << result.text();
  // No kernel is run, so no number is ever below the middle.
  EXPECT_TRUE(result.has_line("FAIL  the median lies there: no, expected yes")) << result.text();
}

TEST(cuda_cooperative_groups, each_time_is_the_shortest_of_three_with_50_repetitions) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto [result, record] = cuda_test::run_without_device("cuda_cooperative_groups", {"--blocks", "3"});
  int launches = 0, number = 0, times = 0;
  std::istringstream lines(record);
  for (std::string line; std::getline(lines, line);) {
    if (std::sscanf(line.c_str(), "place %d was reached %d times", &number, &times) == 2) launches += times;
  }
  const int for_the_results = 24 + 1 + 1, too_large = 1;  // a launch for each of 24 steps, and twice one for all
  const int by_the_host = 3 * (50 + 1);                   // empty kernels, and one kernel with 50 barriers
  const int recorded = 50 * (1 + 24 + 1 + 1);             // once for all three times: an empty kernel, then as above
  EXPECT_EQ(launches, for_the_results + by_the_host + recorded + too_large) << record << result.text();
}

TEST(cuda_cooperative_groups, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_cooperative_groups", {{"--blocks", "3"}, {"--blocks", "32"}}, {"memcheck", "racecheck"},
                          {"--report-api-errors", "no",  // the grid that is too large is meant to be refused
                           "--launch-count", "30"});     // those behind only repeat the first for their times
}

}  // namespace

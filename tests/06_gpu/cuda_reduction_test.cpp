// The program's output for many lengths and sizes of blocks.

#include <cmath>

#include "06_gpu/compute_sanitizer.hpp"
#include "cookbook/cuda.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

const std::string ways[] = {"a chain, on the processor", "an atomic addition per thread", "a tree",
                            "cub::DeviceReduce"};

/// Runs the program at each length, with so many warps per block, and compares what it prints.
void expect_right(const std::vector<std::pair<int, int>>& cases) {
  for (const auto& [count, warps] : cases) {
    const auto result = run("cuda_reduction", {"--count", std::to_string(count), "--warps", std::to_string(warps)},
                            {.environment = {{"COOKBOOK_GUARD", "1"}}});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    different sums of the tree in 20 runs: 1")) << result.text();
    EXPECT_TRUE(result.has_line("ok    the tree's sum is right to 1 in a million: yes")) << result.text();
    EXPECT_TRUE(result.has_line("ok    sum of 1 to 10000, by the tree: 50005000")) << result.text();
    EXPECT_TRUE(result.has_line("ok    the largest of them: 10000")) << result.text();
    double exact = 0;
    for (int i = 0; i < count; ++i) exact += (gpu::random_number(4, i) + 1) / 2;
    for (const std::string& way : ways) {
      const auto different = result.captures("^" + way + " +[\\d.]+ us +(\\d+) +\\d+$");
      const auto off = result.captures("^" + way + " +[\\d.]+ us +\\d+ +(\\d+)$");
      ASSERT_EQ(different.size(), 1U) << way << '\n' << result.text();
      ASSERT_EQ(off.size(), 1U) << way << '\n' << result.text();
      if (way != ways[1]) {
        EXPECT_EQ(different[0], "1") << way << '\n' << result.text();
      }
      // The atomic sum: right but for the rounding of up to some hundred thousand additions in a chain.
      if (way != ways[0]) {
        EXPECT_LE(std::stod(off[0]), 0.5 + (way == ways[1] ? 1e-4 : 1e-6) * exact) << way << '\n' << result.text();
      }
    }
  }
}

// Each start of a program takes seconds where many wait for a GPU, so the starts are divided among several tests.
TEST(cuda_reduction, is_right_for_short_lengths) { expect_right({{0, 3}, {1, 1}, {8, 32}, {31, 2}, {33, 8}}); }

TEST(cuda_reduction, is_right_for_blocks_of_any_size) {
  expect_right({{10'001, 1}, {10'001, 2}, {10'001, 3}, {10'001, 31}, {10'001, 32}, {9'999, 7}});
}

TEST(cuda_reduction, is_right_for_many_blocks) { expect_right({{1'000'003, 1}, {1'000'003, 7}, {20'000'003, 32}}); }

TEST(cuda_reduction, a_chain_of_floats_stops_growing_and_a_tree_does_not) {
  const auto result = run("cuda_reduction", {"--count", "67108864"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  double exact = 0;
  for (int i = 0; i < 67'108'864; ++i) exact += (gpu::random_number(4, i) + 1) / 2;
  const auto chain = result.captures("^a chain, on the processor +[\\d.]+ us +1 +(\\d+)$");
  ASSERT_EQ(chain.size(), 1U) << result.text();
  EXPECT_NEAR(std::stod(chain[0]), exact - 16'777'216, 1) << result.text();
  const auto tree = result.captures("^a tree +[\\d.]+ us +1 +(\\d+)$");
  ASSERT_EQ(tree.size(), 1U) << result.text();
  EXPECT_LE(std::stod(tree[0]), 16) << result.text();
}

TEST(cuda_reduction_timing, a_tree_is_faster_than_an_atomic_addition_per_thread) {
  const auto result = run("cuda_reduction");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto times = result.captures(" ([\\d.]+) us +\\d+ +\\d+$");
  ASSERT_EQ(times.size(), std::size(ways)) << result.text();
  EXPECT_LT(3 * std::stod(times[1]), std::stod(times[0])) << result.text();
  EXPECT_LT(2 * std::stod(times[2]), std::stod(times[1])) << result.text();
}

TEST(cuda_reduction, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_reduction", {{"--count", "100001"}, {"--count", "65536"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"});
}

TEST(cuda_reduction, without_a_device_is_skipped_with_a_reason) {
  const auto result = run("cuda_reduction", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("cuda_reduction: skipped, no CUDA device: "));
}

}  // namespace

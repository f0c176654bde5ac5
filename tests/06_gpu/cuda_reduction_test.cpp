// The program's output for many lengths and sizes of blocks.

#include <cmath>

#include "06_gpu/compute_sanitizer.hpp"
#include "cookbook/cuda.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

const std::string ways[] = {"the processor, in a chain", "an atomic addition per thread",
                            "a tree; last block to end adds up", "a tree; last block to start adds up",
                            "cub::DeviceReduce"};

/// Runs the program at each length, with so many warps per block, and compares what it prints.
void expect_right(const std::vector<std::pair<int, int>>& cases) {
  for (const auto& [count, warps] : cases) {
    const auto result = run("cuda_reduction", {"--count", std::to_string(count), "--warps", std::to_string(warps)},
                            {.environment = {{"COOKBOOK_GUARD", "1"}}});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    for (const std::string& way : ways) {
      EXPECT_EQ(result.lines_with("^" + way + " +[\\d.]+ GB/s +[\\d.]+ us +\\d+ +[\\d.e+]+$").size(), 1U)
          << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    different sums of the tree in 20 runs: 1")) << result.text();
    EXPECT_TRUE(result.has_line("ok    sum of 1 to 10000: 50005000")) << result.text();
    EXPECT_TRUE(result.has_line("ok    the largest: 10000")) << result.text();
    double exact = 0;
    for (int i = 0; i < count; ++i) exact += (gpu::random_number(4, i) + 1) / 2;
    // Both trees: right, and the same in all runs.
    const auto sums = result.captures("^a tree; .+ +[\\d.]+ GB/s +[\\d.]+ us +1 +(.+)$");
    ASSERT_EQ(sums.size(), 2U) << result.text();
    for (const std::string& sum : sums) {
      EXPECT_LE(std::abs(std::stod(sum) - exact), 1e-6 * exact) << count << '\n' << result.text();
    }
    // The others: right but for the rounding of up to some hundred thousand additions in a chain.
    const auto of_others = result.captures("^(?:an atomic|cub::).+ +[\\d.]+ GB/s +[\\d.]+ us +\\d+ +([\\d.e+]+)$");
    ASSERT_EQ(of_others.size(), 2U) << result.text();
    for (const std::string& sum : of_others) {
      EXPECT_LE(std::abs(std::stod(sum) - exact), 1e-4 * exact) << count << '\n' << result.text();
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
  const auto chain = result.captures("^the processor, in a chain +[\\d.]+ GB/s +[\\d.]+ us +1 +(.+)$");
  ASSERT_EQ(chain.size(), 1U) << result.text();
  EXPECT_EQ(std::stod(chain[0]), 16'777'216) << result.text();
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

// The program seen from outside, at sizes around those of warps, tiles and the 32 tiles that a warp looks back at.

#include <string>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

constexpr int tile = 4096;
const std::string ways[] = {
    "copy, for comparison",    "sums by doubling",          "sums in three launches",          "sums in one launch",
    "sums by cub::DeviceScan", "odd numbers in one launch", "odd numbers by cub::DeviceSelect"};

void expect_right(const std::vector<int>& counts) {
  for (const int count : counts) {
    const auto result =
        run("cuda_scan", {"--count", std::to_string(count)}, {.environment = {{"COOKBOOK_GUARD", "1"}}});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << count << '\n' << result.text();
    ASSERT_EQ(result.out.size(), std::size(ways) + 1) << result.text();
    for (const std::string& way : ways) {
      EXPECT_EQ(result.lines_with("^" + way + " +[0-9]+ GB/s$").size(), 1U) << way << '\n' << result.text();
    }
    EXPECT_EQ(result.out.back(), "ok    ways with a wrong number: 0") << count;
  }
}

TEST(cuda_scan, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_scan", "cuda_scan_backwards"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_scan, is_right_within_a_tile) { expect_right({1, 2, 3, 127, 130, 513, tile - 1, tile}); }

TEST(cuda_scan, is_right_around_whole_tiles_and_groups_of_32) {
  expect_right({tile + 1, 2 * tile, 32 * tile, 32 * tile + 1, 33 * tile, 65 * tile + 7});
}

TEST(cuda_scan, is_right_when_the_tile_sums_fill_tiles_themselves) {
  expect_right({tile * tile - 1, tile * tile + 1, 50'000'003});
}

// One tile: shuffles, barriers and bounds. Two and a bit: what blocks tell one another.
TEST(cuda_scan, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_scan", {{"--count", "9001"}, {"--count", "8192"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"});
}

TEST(cuda_scan_timing, one_launch_is_faster_than_three_and_these_than_doubling) {
  const auto result = run("cuda_scan");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto rate = [&](const std::string& way) {
    const auto found = result.captures("^" + way + " +([0-9]+) GB/s$");
    return found.empty() ? 0 : std::stod(found[0]);
  };
  EXPECT_GT(rate("sums in one launch"), rate("sums in three launches")) << result.text();
  EXPECT_GT(rate("sums in three launches"), rate("sums by doubling")) << result.text();
}

}  // namespace

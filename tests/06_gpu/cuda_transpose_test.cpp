// The programs seen from outside.

#include <string>
#include <utility>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

const std::string ways[] = {"copy, one element per thread",       "transposed directly",
                            "through tiles with rows of 32",      "through tiles with rows of 33",
                            "the same, four elements per thread", "copy, four elements per thread"};

TEST(cuda_transpose, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_transpose", "cuda_transpose_no_wait"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_transpose, every_kernel_is_right_at_every_side) {
  // A side is rounded up to whole tiles: one tile, two, an odd number of them.
  for (const std::string side : {"1", "32", "33", "64", "96", "1000"}) {
    const auto result = run("cuda_transpose", {"--side", side});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), std::size(ways) + 1) << result.text();
    for (std::size_t i = 0; i < std::size(ways); ++i) {
      EXPECT_EQ(result.lines_with("^" + ways[i] + " +[0-9]+ GB/s$").size(), 1U) << result.text();
    }
    EXPECT_EQ(result.out.back(), "ok    kernels with a wrong element: 0");
  }
}

TEST(cuda_transpose, the_bench_is_right_for_several_tiles) {
  if (cuda_test::left_out("cuda_transpose_bench")) GTEST_SKIP() << "not built: there is no GPU";
  // With one tile, as in the bench's own test, it does not matter where a tile goes.
  const auto result = run("cuda_transpose_bench", {"--tiles", "3"},
                          {.environment = {{"COOKBOOK_GUARD", "1"}, {"COOKBOOK_ROUNDS", "1"}}});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^ok    .*, wrong elements: 0$").size(), 4U) << result.text();
}

TEST(cuda_transpose_timing, tiles_are_faster_than_the_direct_way) {
  const auto result = run("cuda_transpose");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto direct = result.captures("^" + ways[1] + " +([0-9]+) GB/s$");
  const auto tiled = result.captures("^" + ways[3] + " +([0-9]+) GB/s$");
  ASSERT_EQ(direct.size(), 1U) << result.text();
  ASSERT_EQ(tiled.size(), 1U) << result.text();
  EXPECT_GT(std::stod(tiled[0]), std::stod(direct[0]));
}

TEST(cuda_transpose_timing, tiles_with_an_unused_column_are_faster_than_those_without) {
  const auto result = run("cuda_transpose");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto without = result.captures("^" + ways[2] + " +([0-9]+) GB/s$");
  const auto with = result.captures("^" + ways[3] + " +([0-9]+) GB/s$");
  ASSERT_EQ(without.size(), 1U) << result.text();
  ASSERT_EQ(with.size(), 1U) << result.text();
  // By more than two runs of the same kernel differ.
  EXPECT_GT(std::stod(with[0]), 1.1 * std::stod(without[0])) << result.text();
}

TEST(cuda_transpose_timing, four_loads_under_way_are_faster_than_one) {
  const auto result = run("cuda_transpose");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  for (const auto& [one, four] : {std::pair(ways[0], ways[5]), std::pair(ways[3], ways[4])}) {
    const auto slow = result.captures("^" + one + " +([0-9]+) GB/s$");
    const auto fast = result.captures("^" + four + " +([0-9]+) GB/s$");
    ASSERT_EQ(slow.size(), 1U) << result.text();
    ASSERT_EQ(fast.size(), 1U) << result.text();
    EXPECT_GT(std::stod(fast[0]), 1.1 * std::stod(slow[0])) << result.text();
  }
}

TEST(cuda_transpose, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_transpose", {{"--side", "97"}, {"--side", "64"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"});
}

TEST(cuda_transpose, a_missing_barrier_is_found_by_racecheck) {
  const auto [result, not_run] = cuda_test::run_under("racecheck", "cuda_transpose_no_wait");
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  EXPECT_EQ(result.exit_code, 9) << result.text();
}

}  // namespace

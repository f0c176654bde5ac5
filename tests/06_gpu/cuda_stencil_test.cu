// The steps on the host, and the programs seen from outside.

#include <cstdlib>
#include <numeric>
#include <string>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/cuda_stencil/heat.cuh"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

const std::string ways[] = {" 1 per launch, a point per thread", " 1 per launch, 4 x 4 points per thread",
                            " 1 per launch, in shared memory",   " 2 per launch, in shared memory",
                            " 4 per launch, in shared memory",   " 8 per launch, in shared memory",
                            "16 per launch, in shared memory",   " 4 per launch, in registers",
                            " 8 per launch, in registers",       "16 per launch, in registers"};

TEST(cuda_stencil_next, is_the_heat_equation) {
  EXPECT_EQ(next(1, 0, 0, 0, 0), 0.5F);
  EXPECT_EQ(next(0, 1, 0, 0, 0), 0.125F);
  EXPECT_EQ(next(0, 0, 1, 0, 0), 0.125F);
  EXPECT_EQ(next(0, 0, 0, 1, 0), 0.125F);
  EXPECT_EQ(next(0, 0, 0, 0, 1), 0.125F);
  EXPECT_EQ(next(3, 3, 3, 3, 3), 3);
}

TEST(cuda_stencil_after_steps, spreads_the_heat_of_one_point) {
  std::vector<float> grid(7 * 7);
  grid[3 * 7 + 3] = 64;
  std::vector<float> once(7 * 7), twice(7 * 7);
  once[3 * 7 + 3] = 32;
  for (const int i : {2 * 7 + 3, 4 * 7 + 3, 3 * 7 + 2, 3 * 7 + 4}) once[i] = 8;
  EXPECT_EQ(after_steps(grid, 7, 0), grid);
  EXPECT_EQ(after_steps(grid, 7, 1), once);
  for (int row = 0; row < 7; ++row) {
    for (int column = 0; column < 7; ++column) {
      const int far = std::abs(row - 3) + std::abs(column - 3);
      const bool in_line = row == 3 || column == 3;
      twice[row * 7 + column] = far == 0 ? 20 : far == 1 ? 8 : far == 2 ? (in_line ? 1 : 2) : 0;
    }
  }
  EXPECT_EQ(after_steps(grid, 7, 2), twice);
  EXPECT_EQ(after_steps(once, 7, 1), twice);
}

TEST(cuda_stencil_after_steps, leaves_the_edge_as_it_is) {
  std::vector<float> grid(5 * 5);
  std::iota(grid.begin(), grid.end(), 1.0F);
  grid[2 * 5 + 2] = 100;
  const std::vector<float> after = after_steps(grid, 5, 3);
  for (int i = 0; i < 5; ++i) {
    for (const int edge : {i, 20 + i, 5 * i, 5 * i + 4}) EXPECT_EQ(after[edge], grid[edge]);
  }
  EXPECT_NE(after[2 * 5 + 2], 100);
  EXPECT_EQ(after_steps(std::vector<float>(9, 2), 3, 16), std::vector<float>(9, 2));
}

TEST(cuda_stencil, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_stencil", "cuda_stencil_in_place"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_stencil, every_way_is_right_at_every_side) {
  // Less than a tile, a tile, its middle for each number of steps, and more and less; a warp's strip, and more and
  // less; a side that is rounded up; many tiles.
  for (const std::string side :
       {"4", "8", "32", "36", "48", "56", "60", "62", "64", "68", "112", "116", "120", "124", "128", "132", "1001"}) {
    const auto result = run("cuda_stencil", {"--side", side});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << side << '\n' << result.text();
    EXPECT_EQ(result.lines_with("^copy, for comparison +[0-9.]+ us$").size(), 1U) << result.text();
    for (const std::string& way : ways) {
      EXPECT_EQ(result.lines_with("^" + way + " +[0-9.]+ us +[0-9.]+ x$").size(), 1U) << way << '\n' << result.text();
    }
    EXPECT_EQ(result.out.back(), "ok    rows with the processor's bits: 11");
  }
}

TEST(cuda_stencil, the_bench_is_right_where_strips_and_tiles_do_not_fit) {
  if (cuda_test::left_out("cuda_stencil_bench")) GTEST_SKIP() << "not built: there is no GPU";
  for (const std::string side : {"64", "128", "192", "320", "1088"}) {
    const auto result = run("cuda_stencil_bench", {"--side", side}, {.environment = {{"COOKBOOK_ROUNDS", "1"}}});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^ok    .*, wrong points: 0$").size(), 11U) << result.text();
  }
}

TEST(cuda_stencil_timing, several_steps_per_launch_are_faster_than_the_copy) {
  const auto result = run("cuda_stencil");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto speed = [&](const std::string& way) {
    const auto found = result.captures("^" + way + " +[0-9.]+ us +([0-9.]+) x$");
    EXPECT_EQ(found.size(), 1U) << way << '\n' << result.text();
    return found.size() == 1 ? std::stod(found[0]) : 0;
  };
  EXPECT_GT(speed(" 4 per launch, in shared memory"), 1) << result.text();
  EXPECT_GT(speed(" 8 per launch, in registers"), speed(" 8 per launch, in shared memory")) << result.text();
  EXPECT_GT(speed("16 per launch, in registers"), speed(" 4 per launch, in registers")) << result.text();
}

TEST(cuda_stencil, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_stencil", {{"--side", "75"}, {"--side", "96"}}, {"memcheck", "racecheck"});
}

}  // namespace

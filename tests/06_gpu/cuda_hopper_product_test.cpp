// The programs seen from outside.

#include <string>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

const std::string steps[] = {"mma_sync, from cuda_tensor_cores",      "1 wgmma, and tiles by the TMA",
                             "2 a ring of tiles, filled by one warp", "3 two warp groups share a tile of B",
                             "4 blocks that stay, tile after tile",   "5 two blocks share a tile of B"};

TEST(cuda_hopper_product, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_hopper_product", "cuda_hopper_product_no_swizzle"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_hopper_product, every_step_is_right_at_every_size) {
  // One tile; rings that end in the middle of a round; bands of tiles that are not full; several tiles per block.
  for (const std::string size : {"1", "257", "768", "2304", "4352"}) {
    const auto result = run("cuda_hopper_product", {"--size", size});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    ASSERT_EQ(result.exit_code, 0) << result.text();  // a barrier that never comes would cost as much time each time
    ASSERT_EQ(result.out.size(), std::size(steps) + 2) << result.text();
    for (const std::string& step : steps) {
      EXPECT_EQ(result.lines_with("^" + step + " +[0-9]+ TFLOP/s +[0-9]+ % of cuBLAS$").size(), 1U) << result.text();
    }
    EXPECT_EQ(result.out.back(), "ok    steps with an element that is not cuBLAS's: 0");
  }
}

TEST(cuda_hopper_product_timing, the_last_step_is_nearly_as_fast_as_cublas) {
  const auto result = run("cuda_hopper_product", {"--size", "8192"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto shares = result.captures(" ([0-9]+) % of cuBLAS$");
  ASSERT_EQ(shares.size(), std::size(steps)) << result.text();
  EXPECT_GT(std::stod(shares[1]), std::stod(shares[0])) << result.text();
  EXPECT_GE(std::stod(shares.back()), 85) << result.text();
}

TEST(cuda_hopper_product, is_clean_under_compute_sanitizer) {
  const auto result = run("cuda_hopper_product", {"--size", "768"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  // Not the kernels of cuBLAS.
  cuda_test::expect_clean("cuda_hopper_product", {{"--size", "256"}, {"--size", "768"}},
                          {"memcheck", "racecheck", "synccheck"}, {"--kernel-regex", "kns=product"});
}

}  // namespace

// The programs seen from outside.

#include <string>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

const std::string rows[] = {"mma_sync, from cuda_tensor_cores",
                            "1 wgmma, and tiles by the TMA",
                            "2 one warp copies, two groups multiply",
                            "3 blocks that stay, tile after tile",
                            "cuBLAS",
                            "wgmma alone, nothing copied"};

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
  // One tile; rings that end in the middle of a round; bands of tiles that are not full; more tiles than blocks.
  for (const std::string size : {"1", "257", "768", "2304", "4352"}) {
    const auto result = run("cuda_hopper_product", {"--size", size});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    ASSERT_EQ(result.exit_code, 0) << result.text();  // a barrier that never comes would cost as much time each time
    ASSERT_EQ(result.out.size(), std::size(rows) + 1) << result.text();
    for (const std::string& row : rows) {  // for the smallest products, the library's start makes a share of six digits
      EXPECT_EQ(result.lines_with("^" + row + " +[0-9]+ TFLOP/s *[0-9]+ % of cuBLAS$").size(), 1U) << result.text();
    }
    EXPECT_EQ(result.out.back(), "ok    steps with elements far from cuBLAS's: 0");
  }
}

TEST(cuda_hopper_product_timing, the_last_step_is_nearly_as_fast_as_cublas) {
  const auto result = run("cuda_hopper_product");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto shares = result.captures(" ([0-9]+) % of cuBLAS$");
  ASSERT_EQ(shares.size(), std::size(rows)) << result.text();
  for (int i = 1; i < 4; ++i) EXPECT_GT(std::stod(shares[i]), std::stod(shares[i - 1])) << result.text();
  EXPECT_GE(std::stod(shares[3]), 90) << result.text();
}

TEST(cuda_hopper_product, is_clean_under_compute_sanitizer) {
  // racecheck fails with kernels that use wgmma, those of cuBLAS too: "failed to handle a hardware exception".
  cuda_test::expect_clean("cuda_hopper_product", {{"--size", "256"}, {"--size", "768"}}, {"memcheck"});
}

}  // namespace

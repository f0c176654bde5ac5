// The program seen from outside.

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

#include <filesystem>

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

const std::string host_line = "ok    processor, elements that are far from the exact ones: 0";

TEST(cuda_tiled_product, without_a_device_checks_the_processor_and_is_skipped_with_a_reason) {
  const auto result = run("cuda_tiled_product", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  EXPECT_EQ(result.out, std::vector<std::string>{host_line});
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("cuda_tiled_product: skipped, no CUDA device: "));
}

TEST(cuda_tiled_product, a_wrong_product_of_the_processor_is_no_skip) {
  const auto result =
      run("cuda_tiled_product", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}, {"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
}

TEST(cuda_tiled_product, every_step_has_the_bits_of_the_processor_at_every_size) {
  // 5 is the book's size. Multiples of the tiles, one more, one less, smaller than any tile.
  for (const int size : {1, 5, 7, 31, 33, 64, 129, 256, 257, 385}) {
    const auto result = run("cuda_tiled_product", {"--size", std::to_string(size)});
    EXPECT_TRUE(result.has_line(host_line)) << result.text();
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    for (const std::string step : {"1 one thread per element", "2 shared tile, 16 x 16", "2 shared tile, 32 x 32",
                                   "3 register block", "4 four floats per load", "5 asynchronous copies"}) {
      EXPECT_TRUE(
          result.has_line("ok    " + step + ", elements of " + std::to_string(size * size) + " that are wrong: 0"))
          << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    identity times A, elements that are not those of A, all steps: 0"))
        << result.text();
  }
}

TEST(cuda_tiled_product, whole_numbers_are_exact_at_the_size_of_the_article) {
  if (!std::filesystem::exists(test_support::bin() + "/cuda_tiled_product_bench"))
    GTEST_SKIP() << "no cuBLAS, no bench";
  const auto result = run("cuda_tiled_product_bench", {"--largest", "1600", "--rounds", "1"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    n = 1600, whole numbers, cuBLAS, elements of 1000 that are not right: 0"));
  EXPECT_TRUE(
      result.has_line("ok    n = 1600, whole numbers, 2 shared tile, 32 x 32, elements that are not cuBLAS's: 0"));
}

TEST(cuda_tiled_product, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_tiled_product", {{"--size", "271"}, {"--size", "256"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"});
}

TEST(cuda_tiled_product, a_missing_barrier_is_found_by_racecheck) {
  const auto [result, not_run] = cuda_test::run_under("racecheck", "cuda_tiled_product_race");
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  EXPECT_EQ(result.exit_code, 9) << result.text();
  EXPECT_GE(result.lines_with("Race reported between (Read|Write) access").size(), 1U) << result.text();
}

}  // namespace

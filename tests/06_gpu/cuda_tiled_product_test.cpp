// The program seen from outside.

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

#include <filesystem>

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

const std::string steps[] = {"1 one thread per element", "2 tiles of 16 x 16",     "2 tiles of 32 x 32",
                             "3 8 x 16 sums per thread", "4 four floats per load", "5 asynchronous copies"};

TEST(cuda_tiled_product, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_tiled_product", "cuda_tiled_product_race"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr(program + ": skipped, no CUDA device: "));
  }
}

TEST(cuda_tiled_product, every_step_has_the_bits_of_the_processor_at_every_size) {
  // 5 is the book's size. Multiples of the tiles, one more, one less, smaller than any tile.
  for (const int size : {1, 5, 7, 31, 33, 64, 129, 256, 257, 385}) {
    const auto result = run("cuda_tiled_product", {"--size", std::to_string(size)});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), std::size(steps) + 3) << result.text();
    for (const std::string& step : steps) {
      EXPECT_EQ(result.lines_with("^" + step + " +[0-9.]+ TFLOP/s +[0-9]+ % of cuBLAS$").size(), 1U) << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    all steps, elements of 1000 that have not the bits of the processor's: 0"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    steps with an element that has not the bits of step 1: 0")) << result.text();
  }
}

TEST(cuda_tiled_product_timing, every_step_is_faster_than_the_one_before) {
  const auto result = run("cuda_tiled_product");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto speeds = result.captures(" ([0-9.]+) TFLOP/s +[0-9]+ % of cuBLAS$");
  ASSERT_EQ(speeds.size(), std::size(steps)) << result.text();
  for (std::size_t i = 1; i < speeds.size(); ++i) EXPECT_GT(std::stod(speeds[i]), std::stod(speeds[i - 1]));
}

TEST(cuda_tiled_product, whole_numbers_are_exact_at_the_size_of_the_article) {
  if (!std::filesystem::exists(test_support::bin() + "/cuda_tiled_product_bench"))
    GTEST_SKIP() << "no cuBLAS, no bench";
  const auto result = run("cuda_tiled_product_bench", {"--largest", "1600", "--rounds", "1"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    n = 1600, whole numbers, cuBLAS, elements of 1000 that are not right: 0"));
  EXPECT_TRUE(result.has_line("ok    n = 1600, whole numbers, 2 tiles of 32 x 32, elements that are not cuBLAS's: 0"));
}

TEST(cuda_tiled_product, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_tiled_product", {{"--size", "271"}, {"--size", "256"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"}, {"--kernel-regex", "kns=product"});
}

TEST(cuda_tiled_product, a_missing_barrier_is_found_by_racecheck) {
  const auto [result, not_run] = cuda_test::run_under("racecheck", "cuda_tiled_product_race");
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  EXPECT_EQ(result.exit_code, 9) << result.text();
  EXPECT_GE(result.lines_with("Race reported between (Read|Write) access").size(), 1U) << result.text();
}

}  // namespace

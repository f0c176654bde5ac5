// Tiled matrix product on a GPU: the program seen from outside. Catalogue: B2.7.

#include "support/run.hpp"

#include <filesystem>

namespace {

using test_support::Result;
using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

const char* const sanitizer = "/usr/local/cuda/bin/compute-sanitizer";

const std::vector<std::string> steps = {"1 a thread an element", "2 shared tile", "3 register block", "4 vector loads",
                                        "5 asynchronous copies"};

/// What the program checks without a device.
void expect_host_checks(const Result& result) {
  EXPECT_TRUE(result.has_line("ok    host, 2 x 2: [19, 22, 43, 50]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    host within 1e-5 of the sum of magnitudes, every element: yes")) << result.text();
}

TEST(cuda_tiled_product, without_a_device_checks_the_host_and_is_skipped_with_a_reason) {
  const auto result = run("cuda_tiled_product", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  expect_host_checks(result);
  EXPECT_EQ(result.out.size(), 2U) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("cuda_tiled_product: skipped, no CUDA device: "));
}

TEST(cuda_tiled_product, a_wrong_host_product_is_no_skip) {
  const auto result =
      run("cuda_tiled_product", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}, {"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
}

TEST(cuda_tiled_product, every_step_has_the_bits_of_the_host_at_every_size) {
  // Multiples of the tiles, one more, one less, smaller than any tile.
  for (const int size : {1, 7, 31, 33, 64, 129, 256, 257, 385}) {
    const auto result = run("cuda_tiled_product", {"--size", std::to_string(size), "--largest", "0"});
    expect_host_checks(result);
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    for (const std::string& step : steps) {
      EXPECT_TRUE(result.has_line("ok    " + step + ", wrong elements of " + std::to_string(size * size) + ": 0"))
          << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    identity times A, wrong elements in all steps: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    2 shared tile of 16 x 16, wrong elements: 0")) << result.text();
  }
}

TEST(cuda_tiled_product, the_source_size_is_exact_and_measured) {
  const auto result = run("cuda_tiled_product", {"--largest", "1600"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    whole numbers, size 1600, wrong elements in all steps: 0")) << result.text();
  for (const std::string& step : steps) {
    EXPECT_EQ(result.lines_with("^" + step + " .*TFLOP/s").size(), 1U) << result.text();
  }
  EXPECT_TRUE(result.has_line("ok    size 1600, elements of 1000 that are far from the exact ones: 0"));
  EXPECT_TRUE(result.has_line("ok    size 1600, elements that are far from those of cuBLAS: 0"));
}

TEST(cuda_tiled_product, is_clean_under_compute_sanitizer) {
  if (!std::filesystem::exists(sanitizer)) GTEST_SKIP() << "no " << sanitizer;
  for (const std::string tool : {"memcheck", "racecheck", "initcheck", "synccheck"}) {
    const auto result =
        run(sanitizer, {"--tool", tool, "--error-exitcode", "9", test_support::bin() + "/cuda_tiled_product", "--size",
                        "270", "--largest", "0"});
    if (result.exit_code == skipped) GTEST_SKIP() << "no device";
    EXPECT_EQ(result.exit_code, 0) << tool << '\n' << result.text();
  }
}

TEST(cuda_tiled_product, a_missing_barrier_is_found_by_racecheck) {
  if (!std::filesystem::exists(sanitizer)) GTEST_SKIP() << "no " << sanitizer;
  const auto result = run(
      sanitizer, {"--tool", "racecheck", "--error-exitcode", "9", test_support::bin() + "/cuda_tiled_product_race"});
  if (result.exit_code == skipped) GTEST_SKIP() << "no device";
  EXPECT_EQ(result.exit_code, 9) << result.text();
  EXPECT_GE(result.lines_with("Race reported between (Read|Write) access").size(), 1U) << result.text();
}

}  // namespace

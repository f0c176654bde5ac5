// Reduction on a GPU: the program seen from outside. Catalogue: 8.C16, 8.12.

#include "support/run.hpp"

#include <filesystem>

namespace {

using test_support::Result;
using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

/// What the program checks without a device.
void expect_host_checks(const Result& result) {
  EXPECT_TRUE(result.has_line("ok    chain, sum after each addition: [1, 3, 6, 10, 15, 21, 28, 36]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    chain, additions that wait for one another: 7")) << result.text();
  EXPECT_TRUE(result.has_line("ok    tree, sums on each level: [[3, 7, 11, 15], [10, 26], [36]]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    tree, levels that wait for one another: 3")) << result.text();
  EXPECT_TRUE(result.has_line("ok    host, sum of 1 to 10000: 50005000")) << result.text();
}

TEST(cuda_reduction, without_a_device_checks_the_host_and_is_skipped_with_a_reason) {
  const auto result = run("cuda_reduction", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  expect_host_checks(result);
  EXPECT_EQ(result.out.size(), 5U) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("cuda_reduction: skipped, no CUDA device: "));
}

TEST(cuda_reduction, a_wrong_host_result_is_no_skip) {
  const auto result =
      run("cuda_reduction", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}, {"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
}

TEST(cuda_reduction, sums_the_first_ten_thousand_integers) {
  const auto result = run("cuda_reduction", {"--large", "0"});
  expect_host_checks(result);
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("vector to reduce = [1 2 3 ... 9998 9999 10000]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    result, sum: 50005000")) << result.text();
  EXPECT_TRUE(result.has_line("ok    result, maximum: 10000")) << result.text();
  EXPECT_TRUE(result.has_line("ok    product of 1 to 20: 2432902008176640000")) << result.text();
  EXPECT_TRUE(result.has_line("ok    sum of 1 to 8: 36")) << result.text();
  EXPECT_TRUE(result.has_line("ok    sum of one element: 42")) << result.text();
  EXPECT_TRUE(result.has_line("ok    sum of none: 0")) << result.text();
  EXPECT_TRUE(result.has_line("ok    block sizes of 32, 64, 96 ... 1024 threads with this sum: 32")) << result.text();
}

TEST(cuda_reduction, holds_for_every_count_and_block_size) {
  for (const std::string count : {"1", "3", "33", "9999", "10001", "5000001"}) {
    for (const std::string block : {"1", "100", "1024"}) {
      const auto result = run("cuda_reduction", {"--count", count, "--block", block, "--large", "0"});
      if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
      EXPECT_EQ(result.exit_code, 0) << result.text();
      EXPECT_TRUE(result.has_line("ok    sum of random integers, device less host: 0")) << result.text();
    }
  }
}

TEST(cuda_reduction, float_sums_have_the_same_bits_on_every_run) {
  for (const std::string large : {"1", "1001", "1048577", "20000003"}) {
    const auto result = run("cuda_reduction", {"--count", "1", "--large", large, "--runs", "100"});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    different float sums in 100 runs: 1")) << result.text();
    EXPECT_TRUE(result.has_line("ok    float sum within 1e-6 of the sum of magnitudes: yes")) << result.text();
  }
}

TEST(cuda_reduction, is_clean_under_compute_sanitizer) {
  const std::string sanitizer = "/usr/local/cuda/bin/compute-sanitizer";
  if (!std::filesystem::exists(sanitizer)) GTEST_SKIP() << "no " << sanitizer;
  for (const std::string tool : {"memcheck", "racecheck", "initcheck", "synccheck"}) {
    const auto result =
        run(sanitizer, {"--tool", tool, "--error-exitcode", "9", test_support::bin() + "/cuda_reduction", "--count",
                        "100001", "--large", "100003", "--runs", "2"});
    if (result.exit_code == skipped) GTEST_SKIP() << "no device";
    EXPECT_EQ(result.exit_code, 0) << tool << '\n' << result.text();
  }
}

}  // namespace

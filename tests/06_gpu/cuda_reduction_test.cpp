// The program's output for many lengths and sizes of blocks.

#include <cmath>

#include "06_gpu/compute_sanitizer.hpp"
#include "cookbook/cuda.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

struct Case {
  std::string count, warps, sum, maximum;
};

// Each start of a program takes seconds where many wait for a GPU, so the starts are divided among several tests.
void expect_exact(const std::vector<Case>& cases) {
  for (const auto& [count, warps, sum, maximum] : cases) {
    const auto result = run("cuda_reduction", {"--count", count, "--warps", warps});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    sum: " + sum)) << result.text();
    EXPECT_TRUE(result.has_line("ok    maximum: " + maximum)) << result.text();
    EXPECT_TRUE(result.has_line("ok    product of 1 to 20: 2432902008176640000")) << result.text();
    EXPECT_TRUE(result.has_line("ok    different sums of random floats in 20 runs: 1")) << result.text();
  }
}

TEST(cuda_reduction, is_exact_for_short_lengths) {
  expect_exact({{"0", "3", "0", "-9223372036854775808"},  // the neutral elements
                {"1", "1", "1", "1"},
                {"8", "32", "36", "8"},
                {"31", "2", "496", "31"}});
}

TEST(cuda_reduction, is_exact_around_whole_blocks) {
  expect_exact({{"9999", "31", "49995000", "9999"}, {"10000", "7", "50005000", "10000"}});
}

TEST(cuda_reduction, is_exact_for_blocks_of_any_size) {
  expect_exact({{"10001", "1", "50015001", "10001"},
                {"10001", "2", "50015001", "10001"},
                {"10001", "3", "50015001", "10001"},
                {"10001", "31", "50015001", "10001"},
                {"10001", "32", "50015001", "10001"}});
}

TEST(cuda_reduction, is_exact_for_many_blocks) {
  expect_exact({{"1000003", "1", "500003500006", "1000003"},
                {"1000003", "7", "500003500006", "1000003"},
                {"1000003", "32", "500003500006", "1000003"}});
}

TEST(cuda_reduction, a_sum_of_floats_is_near_the_exact_one) {
  for (const int count : {0, 1, 33, 10'000, 1'000'003}) {
    const auto result = run("cuda_reduction", {"--count", std::to_string(count)});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    double exact = 0;
    for (int i = 0; i < count; ++i) exact += gpu::random_number(4, i);
    const auto sum = result.captures("^the sum of the floats: (.+)$");
    ASSERT_EQ(sum.size(), 1U) << result.text();
    EXPECT_LE(std::abs(std::stod(sum[0]) - exact), count * 1e-7);
  }
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

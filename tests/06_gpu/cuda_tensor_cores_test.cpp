// The program seen from outside.

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

TEST(cuda_tensor_cores, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_tensor_cores", "cuda_tensor_cores_half_sums"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_tensor_cores, sums_are_as_exact_as_floats_at_every_size) {
  for (const std::string tiles : {"1", "2", "7", "16", "32"}) {
    const auto result = run("cuda_tensor_cores", {"--tiles", tiles});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    whole numbers, wrong elements: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    elements that are far from the product of the rounded factors: 0"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    most elements are far from the product of the factors themselves: yes"))
        << result.text();
  }
}

TEST(cuda_tensor_cores, sums_of_16_bits_stay_where_a_further_term_is_rounded_away) {
  const auto result = run("cuda_tensor_cores_half_sums");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_EQ(result.out, std::vector<std::string>{"the sum is 2048, expected 2175.97"});
}

TEST(cuda_tensor_cores, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_tensor_cores", {{"--tiles", "3"}, {"--tiles", "4"}},
                          {"memcheck", "initcheck", "synccheck"});
}

}  // namespace

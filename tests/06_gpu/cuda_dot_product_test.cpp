// The program's output for many lengths and shapes of the grid.

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

const std::string ways[] = {"products stored, then added up", "map and reduction in one kernel",
                            "thrust::transform_reduce"};

void expect_right(const std::vector<std::string>& arguments, const std::string& largest, const std::string& of_few) {
  const auto result = run("cuda_dot_product", arguments, {.environment = {{"COOKBOOK_GUARD", "1"}}});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 0) << result.text();
  for (const std::string& way : ways) {
    EXPECT_EQ(result.lines_with("^" + way + " +\\d+ GB/s$").size(), 1U) << result.text();
  }
  EXPECT_TRUE(result.has_line("ok    ways with a wrong dot product: 0")) << result.text();
  EXPECT_TRUE(result.has_line("ok    the largest product: " + largest)) << result.text();
  EXPECT_TRUE(result.has_line("ok    the dot product of the first " + of_few)) << result.text();
}

struct Expected {
  std::string count, largest, of_few;
};

TEST(cuda_dot_product, is_exact_for_every_length) {
  for (const auto& [count, largest, of_few] : {Expected{"0", "-9223372036854775808", "0: 0"},
                                               {"1", "0", "1: 0"},
                                               {"2", "1", "2: 1"},
                                               {"400", "159201", "400: 21253400"},
                                               {"500", "249001", "400: 21253400"},
                                               {"1862", "3463321", "400: 21253400"},      // the first beyond 32 bits
                                               {"46342", "2147488281", "400: 21253400"},  // a product beyond 32 bits
                                               {"2000003", "9999800001", "400: 21253400"}}) {
    expect_right({"--count", count}, largest, of_few);
    if (IsSkipped()) return;
  }
}

TEST(cuda_dot_product, does_not_depend_on_blocks_and_threads) {
  for (const auto& [blocks, threads] : {std::pair<std::string, std::string>{"1", "1"},
                                        {"1", "3"},
                                        {"1", "1024"},
                                        {"2", "31"},
                                        {"2", "96"},
                                        {"2", "1000"},
                                        {"33", "2"},
                                        {"33", "33"},
                                        {"33", "511"},
                                        {"1000", "1"},
                                        {"1000", "96"},
                                        {"1000", "1024"}}) {
    expect_right({"--count", "500", "--blocks", blocks, "--threads", threads}, "249001", "400: 21253400");
    if (IsSkipped()) return;
  }
}

TEST(cuda_dot_product, without_a_device_is_skipped_with_a_reason) {
  const auto result = run("cuda_dot_product", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("cuda_dot_product: skipped, no CUDA device: "));
}

TEST(cuda_dot_product, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_dot_product",
                          {{"--count", "1001", "--blocks", "3", "--threads", "33"}, {"--count", "1024"}});
}

}  // namespace

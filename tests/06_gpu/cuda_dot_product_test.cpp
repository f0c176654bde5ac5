// The program's output for many lengths and shapes of the grid.

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

struct Expected {
  std::string count, dot, largest;
};

TEST(cuda_dot_product, is_exact_for_every_length) {
  for (const auto& [count, dot, largest] : {Expected{"0", "0", "-9223372036854775808"},
                                            {"1", "0", "0"},
                                            {"2", "1", "1"},
                                            {"400", "21253400", "159201"},
                                            {"500", "41541750", "249001"},
                                            {"1861", "2146682110", "3459600"},  // the longest that fits 32 bits
                                            {"1862", "2150145431", "3463321"},
                                            {"46342", "33173325228471", "2147488281"},  // a product beyond 32 bits
                                            {"2000000", "2666664666667000000", "3999996000001"}}) {
    const auto result = run("cuda_dot_product", {"--count", count});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    dot product: " + dot)) << result.text();
    EXPECT_TRUE(result.has_line("ok    dot product, computed by a single thread: " + dot)) << result.text();
    EXPECT_TRUE(result.has_line("ok    largest product: " + largest)) << result.text();
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
    const auto result = run("cuda_dot_product", {"--count", "500", "--blocks", blocks, "--threads", threads});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    dot product: 41541750")) << result.text();
    EXPECT_TRUE(result.has_line("ok    largest product: 249001")) << result.text();
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

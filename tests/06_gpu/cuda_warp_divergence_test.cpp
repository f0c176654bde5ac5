// The program seen from outside.

#include <cmath>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

TEST(cuda_warp_divergence, without_a_device_it_is_skipped_with_a_reason) {
  const auto result = run("cuda_warp_divergence", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  EXPECT_TRUE(result.out.empty()) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("cuda_warp_divergence: skipped, no CUDA device: "));
}

TEST(cuda_warp_divergence, results_and_warps_are_right_whatever_the_length) {
  for (const std::string steps : {"200", "1000", "5000"}) {
    const auto result = run("cuda_warp_divergence", {"--steps", steps});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    threads with a wrong result: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    threads of an 8 x 4 x 4 block that are in warp (x + 8 y + 32 z) / 32: 128"))
        << result.text();
  }
}

TEST(cuda_warp_divergence, every_way_within_a_warp_is_a_pass_of_its_own_and_whole_warps_cost_nothing) {
  // Cycles that one multiprocessor counts. If the device also serves another program, its turns are counted, too; so
  // one of five runs has to be right.
  std::string printed;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto result = run("cuda_warp_divergence");
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    printed = result.text();
    const auto ways = result.captures("^ *(\\d+) +[\\d.]+ x +[\\d.]+ x$");
    const auto within = result.captures("^ *\\d+ +([\\d.]+) x +[\\d.]+ x$");
    const auto by_warps = result.captures("^ *\\d+ +[\\d.]+ x +([\\d.]+) x$");
    ASSERT_EQ(ways, (std::vector<std::string>{"1", "2", "4", "8", "16", "32"})) << printed;
    bool right = true;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      right = right && std::abs(std::stod(within[i]) / std::stod(ways[i]) - 1) < 0.25;
      right = right && std::abs(std::stod(by_warps[i]) - 1) < 0.25;
    }
    if (right) return;
  }
  FAIL() << printed;
}

TEST(cuda_warp_divergence, the_pitfall_counts_half) {
  const auto result = run("cuda_warp_divergence_vote");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("16 of 32 positive numbers were counted")) << result.text();
}

TEST(cuda_warp_divergence, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_warp_divergence", {{"--steps", "200"}}, {"memcheck"});
}

TEST(cuda_warp_divergence, each_figure_is_the_best_of_ten_launches) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto [result, record] = cuda_test::run_without_device("cuda_warp_divergence");
  int launches = 0, times = 0, place = 0;
  std::istringstream lines(record);
  for (std::string line; std::getline(lines, line);) {
    if (std::sscanf(line.c_str(), "place %d was reached %d times", &place, &times) == 2) launches += times;
  }
  // One way, and twice 1, 2, 4 ... 32 ways; and the warps of a block with three dimensions.
  EXPECT_EQ(launches, 10 * (1 + 2 * 6) + 1) << record << result.text();
}

}  // namespace

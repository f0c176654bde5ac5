// The program seen from outside, and which threads the hardware puts together.

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "cookbook/cuda.hpp"
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

TEST(cuda_warp_divergence, results_are_right_whatever_the_length) {
  for (const std::string steps : {"200", "1000", "5000"}) {
    const auto result = run("cuda_warp_divergence", {"--steps", steps});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    threads with a wrong result: 0")) << result.text();
  }
}

/// Every thread asks for the number of the first thread of its warp, as the hardware has put them together, and
/// compares it with the rule: x counts first, then y, then z.
__global__ void count_in_place(int* in_place) {
  const int number = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int first_of_my_warp = __shfl_sync(0xFFFFFFFF, number, 0);
  if (first_of_my_warp == number / 32 * 32) atomicAdd(in_place, 1);
}

TEST(cuda_warp_divergence_warps, take_threads_with_x_first_then_y_then_z) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const dim3 block : {dim3(64), dim3(8, 4, 4), dim3(4, 16, 2), dim3(2, 2, 32)}) {
    gpu::DeviceArray<int> in_place(1);
    in_place.zero();
    count_in_place<<<1, block>>>(in_place.data());
    CUDA_CHECK(cudaGetLastError());
    EXPECT_EQ(in_place.to_host()[0], static_cast<int>(block.x * block.y * block.z));
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
    EXPECT_TRUE(result.has_line("the block goes   each warp goes all of them   each warp goes one")) << printed;
    const auto ways = result.captures("^ *(\\d+) ways? +[\\d.]+ x +[\\d.]+ x$");
    const auto within = result.captures("^ *\\d+ ways? +([\\d.]+) x +[\\d.]+ x$");
    const auto by_warps = result.captures("^ *\\d+ ways? +[\\d.]+ x +([\\d.]+) x$");
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
  // No kernel runs there, so every thread's result is wrong in each launch of the table.
  EXPECT_TRUE(result.has_line("FAIL  threads with a wrong result: 122880, expected 0")) << result.text();
  // One way, and twice 1, 2, 4 ... 32 ways.
  EXPECT_EQ(launches, 10 * (1 + 2 * 6)) << record << result.text();
}

}  // namespace

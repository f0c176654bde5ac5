// The program seen from outside, and which threads the hardware puts together.

#include <algorithm>
#include <cmath>
#include <cstdlib>
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

const std::string arrangements[] = {"thread by thread", "warp by warp", "at random", "at random, sorted",
                                    "at random, exchanged"};

/// The figures of an arrangement: cycles for 1, 2, 4 ... 32 paths, divided by those of one path, and then the different
/// paths per warp of 32. (The cycles are no numbers where no kernel runs.)
std::vector<double> row_of(const test_support::Result& result, const std::string& arrangement) {
  for (const std::string& line : result.lines_with("^" + arrangement + " +[-0-9a-z]")) {
    std::istringstream words(line.substr(arrangement.size()));
    std::vector<double> row;
    for (std::string word; words >> word;) {
      if (word != "x") row.push_back(std::strtod(word.c_str(), nullptr));
    }
    return row;
  }
  return {};
}

void expect_paths_per_warp(const test_support::Result& result, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::vector<double> row = row_of(result, arrangements[i]);
    ASSERT_EQ(row.size(), 7U) << result.text();
    EXPECT_NEAR(row[6], expected[i], 1e-6) << arrangements[i] << '\n' << result.text();
  }
}

TEST(cuda_warp_divergence, each_path_that_a_warp_has_is_a_pass_of_its_own) {
  // Cycles that one multiprocessor counts. If the device also serves another program, its turns are counted, too; so
  // one of five runs has to be right.
  std::string printed;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto result = run("cuda_warp_divergence");
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    printed = result.text();
    expect_paths_per_warp(result, {32.0, 1.0, 20.1, 2.0, 2.0});
    const std::vector<double> by_thread = row_of(result, arrangements[0]), by_warp = row_of(result, arrangements[1]),
                              random = row_of(result, arrangements[2]), sorted = row_of(result, arrangements[3]),
                              exchanged = row_of(result, arrangements[4]);
    bool right = true;
    for (std::size_t i = 0; i < 6; ++i) {
      right = right && std::abs(by_thread[i] / (1 << i) - 1) < 0.1;
      right = right && std::abs(by_warp[i] - 1) < 0.1;
    }
    right = right && std::abs(random[5] / random[6] - 1) < 0.2;
    right = right && sorted[5] > 1.5 && sorted[5] < 3.2;  // some warps have three paths
    // What the exchange costs is counted, and is less than it saves. (It shows with one path: 1.03 to 1.04. With 32 the
    // two sorted rows differ by no more than the noise, 1.95 and 1.94 to 1.96.)
    right = right && exchanged[0] > 1.01 && exchanged[0] < 1.5;
    right = right && exchanged[5] > sorted[5] - 0.1 && exchanged[5] < random[5] / 4;
    if (right) return;
  }
  FAIL() << printed;
}

TEST(cuda_warp_divergence, sorting_within_a_warp_gains_nothing) {
  std::string printed;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto result = run("cuda_warp_divergence", {"--warps", "1"});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    printed = result.text();
    expect_paths_per_warp(result, {32.0, 1.0, 22.0, 22.0, 22.0});
    const double random = row_of(result, arrangements[2])[5], sorted = row_of(result, arrangements[3])[5];
    if (std::abs(row_of(result, arrangements[0])[5] / 32 - 1) < 0.1 && std::abs(sorted / random - 1) < 0.1) return;
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
  EXPECT_TRUE(result.has_line("FAIL  threads with a wrong result: 349184, expected 0")) << result.text();
  expect_paths_per_warp(result, {32.0, 1.0, 20.1, 2.0, 2.0});
  // One path, and five times 1, 2, 4 ... 32 paths; the first launch of each is not counted.
  EXPECT_EQ(launches, 11 * (1 + 5 * 6)) << record << result.text();
}

}  // namespace

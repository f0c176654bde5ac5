// The program's output: any number of workers, chunks of all sizes, workers that share a GPU.

#include <string>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

TEST(cuda_nccl, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_nccl", "cuda_nccl_type"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_nccl, library_and_ring_are_right_for_any_number_of_workers) {
  for (const std::string workers : {"1", "2", "3", "5", "8"}) {
    const auto result = run("cuda_nccl", {"--workers", workers, "--count", "100003"});
    if (result.exit_code == skipped) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
    const std::string times = " +\\d+ us +\\d+ us +[0-9.]+ GB/s$";
    EXPECT_EQ(result.lines_with("^ncclAllReduce +\\d+" + times).size(), 2U) << result.text();
    EXPECT_EQ(result.lines_with("^ring by hand +\\d+" + times).size(), 2U) << result.text();
    EXPECT_TRUE(result.has_line("ok    wrong sums: 0")) << result.text();
  }
}

/// The bytes that a row's bandwidth and time make, as a share of the array's.
double received_arrays(const test_support::Result& result, const std::string& way, const std::string& count) {
  const std::string row = "^" + way + " +" + count + " +\\d+ us +";
  const auto time = result.captures(row + "(\\d+) us"), bandwidth = result.captures(row + "\\d+ us +([0-9.]+) GB/s$");
  EXPECT_EQ(time.size(), 1U) << result.text();
  EXPECT_EQ(bandwidth.size(), 1U) << result.text();
  if (time.size() != 1 || bandwidth.size() != 1) return -1;
  return std::stod(bandwidth[0]) * 1e9 * std::stod(time[0]) * 1e-6 / (4 * std::stod(count));
}

// A worker receives 2 (n - 1) of n chunks. (There are as many workers as devices, at least.)
TEST(cuda_nccl, the_bandwidth_is_that_of_the_chunks_a_worker_receives) {
  const std::string count = "2000000";
  for (const int n : {8, 13}) {
    const auto result = run("cuda_nccl", {"--workers", std::to_string(n), "--count", count});
    if (result.exit_code == skipped) GTEST_SKIP() << result.text();
    const double expected = 2.0 * (n - 1) / n;
    EXPECT_NEAR(received_arrays(result, "ring by hand", count), expected, 0.03 * expected) << result.text();
  }
}

TEST(cuda_nccl, by_default_one_device_has_two_workers_and_one_rank) {
  const std::string count = "10000000";
  const auto result = run("cuda_nccl", {"--count", count}, {.environment = {{"CUDA_VISIBLE_DEVICES", "0"}}});
  if (result.exit_code == skipped) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_NEAR(received_arrays(result, "ring by hand", count), 1, 0.05) << result.text();
  EXPECT_EQ(received_arrays(result, "ncclAllReduce", count), 0) << result.text();
}

TEST(cuda_nccl, by_default_several_devices_have_a_worker_each) {
  const std::string count = "10000000";
  const auto result = run("cuda_nccl", {"--count", count});
  if (result.exit_code == skipped) GTEST_SKIP() << result.text();
  const double of_ranks = received_arrays(result, "ncclAllReduce", count);
  if (of_ranks == 0) GTEST_SKIP() << "there is one device";
  EXPECT_NEAR(received_arrays(result, "ring by hand", count), of_ranks, 0.05) << result.text();
}

TEST(cuda_nccl, chunks_may_be_empty) {
  for (const std::string count : {"1", "2", "6", "7", "8"}) {
    const auto result = run("cuda_nccl", {"--workers", "7", "--count", count});
    if (result.exit_code == skipped) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
  }
}

TEST(cuda_nccl, writes_nothing_behind_its_arrays) {
  cuda_test::expect_clean("cuda_nccl", {{"--workers", "3", "--count", "1001"}, {"--workers", "4", "--count", "4096"}},
                          {});
}

TEST(cuda_nccl_type, half_of_the_array_takes_part) {
  const auto result = run("cuda_nccl_type");
  if (result.exit_code == skipped) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("500 of 1000 sums are wrong")) << result.text();
}

}  // namespace

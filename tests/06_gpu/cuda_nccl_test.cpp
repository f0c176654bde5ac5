// The program's output: any number of workers, chunks of all sizes, workers that share a GPU.

#include <algorithm>
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
    EXPECT_EQ(result.lines_with("^ncclAllReduce, ranks: \\d+ +\\d+" + times).size(), 2U) << result.text();
    EXPECT_EQ(result.lines_with("^ring by hand, workers: \\d+ +\\d+" + times).size(), 2U) << result.text();
    EXPECT_TRUE(result.has_line("ok    wrong sums: 0")) << result.text();
  }
}

// A worker receives 2 (n - 1) of n chunks.
TEST(cuda_nccl, the_bandwidth_is_that_of_the_chunks_a_worker_receives) {
  for (const int workers : {2, 5}) {
    const auto result = run("cuda_nccl", {"--workers", std::to_string(workers), "--count", "10000000"});
    if (result.exit_code == skipped) GTEST_SKIP() << result.text();
    const std::string row = "^ring by hand, workers: \\d+ +10000000 +\\d+ us +";
    const auto time = result.captures(row + "(\\d+) us"), bandwidth = result.captures(row + "\\d+ us +([0-9.]+) GB/s$");
    const auto of = result.captures("^ring by hand, workers: (\\d+) +10000000");
    ASSERT_EQ(time.size(), 1U) << result.text();
    ASSERT_EQ(bandwidth.size(), 1U) << result.text();
    const double n = std::stod(of.at(0)), gigabytes = 2 * (n - 1) / n * 10'000'000 * 4 / 1e9;
    EXPECT_NEAR(std::stod(bandwidth[0]), gigabytes / (std::stod(time[0]) * 1e-6), 0.05 * std::stod(bandwidth[0]))
        << result.text();
  }
}

TEST(cuda_nccl, by_default_each_device_has_one_worker_and_there_are_two_at_least) {
  const auto result = run("cuda_nccl", {"--count", "1000"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.text();
  const auto devices = result.captures("^NCCL .*, GPUs: (\\d+)$"), workers = result.captures("workers: (\\d+) ");
  ASSERT_EQ(devices.size(), 1U) << result.text();
  ASSERT_EQ(workers.size(), 2U) << result.text();
  EXPECT_EQ(std::stoi(workers[0]), std::max(2, std::stoi(devices[0]))) << result.text();
}

TEST(cuda_nccl, chunks_may_be_empty) {
  for (const std::string count : {"1", "2", "6", "7", "8"}) {
    const auto result = run("cuda_nccl", {"--workers", "7", "--count", count});
    if (result.exit_code == skipped) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
  }
}

TEST(cuda_nccl, one_device_is_enough) {
  const auto result = run("cuda_nccl", {"--count", "1000"}, {.environment = {{"CUDA_VISIBLE_DEVICES", "0"}}});
  if (result.exit_code == skipped) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^NCCL \\d+\\.\\d+\\.\\d+, GPUs: 1$").size(), 1U) << result.text();
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

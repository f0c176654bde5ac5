// The program's output: any number of workers, chunks of all sizes, and workers that share a device.

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(cuda_many_gpus, every_worker_has_the_sums_for_any_number_of_workers) {
  for (const std::string workers : {"1", "2", "3", "4", "5", "8", "64"}) {
    const auto result = run("cuda_many_gpus", {"--workers", workers, "--count", "100003"});
    if (result.exit_code == 77) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    workers with the right sums, both ways counted: " +
                                std::to_string(2 * std::stoi(workers))))
        << result.text();
  }
}

TEST(cuda_many_gpus, along_the_ring_no_worker_receives_or_sends_twice_its_array) {
  for (const int workers : {1, 2, 4, 10}) {
    const auto result = run("cuda_many_gpus", {"--workers", std::to_string(workers), "--count", "100000"});
    if (result.exit_code == 77) GTEST_SKIP() << result.text();
    const auto received = result.captures("receives +([0-9.]+) arrays"), sent = result.captures("sends +([0-9.]+) ");
    ASSERT_EQ(received.size(), 2U) << result.text();
    ASSERT_EQ(sent.size(), 2U) << result.text();
    for (const auto& bytes : {received, sent}) {
      EXPECT_DOUBLE_EQ(std::stod(bytes[0]), workers - 1) << result.text();
      EXPECT_NEAR(std::stod(bytes[1]), 2.0 * (workers - 1) / workers, 0.006) << result.text();
    }
  }
}

TEST(cuda_many_gpus_timing, with_a_device_for_each_worker_the_ring_is_faster) {
  const auto found = run("cuda_many_gpus", {"--count", "1"});
  if (found.exit_code == 77) GTEST_SKIP() << found.text();
  const std::string devices = found.captures("devices: ([0-9]+)").at(0);
  if (devices == "1") GTEST_SKIP() << "one device";
  const auto result = run("cuda_many_gpus", {"--workers", devices});
  const auto times = result.captures(" ([0-9.]+) ms$");
  ASSERT_EQ(times.size(), 2U) << result.text();
  EXPECT_LT(1.2 * std::stod(times[1]), std::stod(times[0])) << result.text();
}

TEST(cuda_many_gpus, chunks_may_be_empty) {
  for (const std::string count : {"1", "2", "6", "7", "8"}) {
    const auto result = run("cuda_many_gpus", {"--workers", "7", "--count", count});
    if (result.exit_code == 77) GTEST_SKIP() << result.text();
    EXPECT_EQ(result.exit_code, 0) << result.text();
  }
}

TEST(cuda_many_gpus, one_device_is_enough) {
  const auto result = run("cuda_many_gpus", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", "0"}}});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("^4 workers, devices: ([0-9]+),"), std::vector<std::string>{"1"}) << result.text();
}

TEST(cuda_many_gpus, gives_the_same_result_again_and_again) {
  // Large chunks, so that a copy that did not wait for the neighbour would come too early.
  for (int round = 0; round < 5; ++round) {
    const auto result = run("cuda_many_gpus", {"--workers", "4", "--count", "20000000"});
    if (result.exit_code == 77) GTEST_SKIP() << result.text();
    ASSERT_EQ(result.exit_code, 0) << result.text();
  }
}

TEST(cuda_many_gpus, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_many_gpus",
                          {{"--workers", "3", "--count", "1001"}, {"--workers", "4", "--count", "1024"}});
}

}  // namespace

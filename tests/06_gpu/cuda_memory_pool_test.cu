// The program seen from outside, and its steps from inside: what they give back, and where.

#define main cuda_memory_pool_main  // the functions stand in the program's file, and the test has a main() of its own
#include "06_gpu/cuda_memory_pool/cuda_memory_pool.cu"
#undef main

#include <string>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;

TEST(cuda_memory_pool, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_memory_pool", "cuda_memory_pool_other_stream"}) {
    const auto result = test_support::run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_memory_pool, every_way_is_right_at_every_size) {
  for (const std::string count : {"1", "256", "100003"}) {
    for (const std::string steps : {"1", "7"}) {
      const auto result = test_support::run("cuda_memory_pool", {"--count", count, "--steps", steps});
      if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
      EXPECT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(result.lines_with(" +[0-9.]+ us +[0-9.]+ us +[0-9]+ MiB$").size(), 4U) << result.text();
      EXPECT_TRUE(result.has_line("ok    times with a wrong sum: 0")) << result.text();
    }
  }
}

TEST(cuda_memory_pool, a_wrong_sum_is_noticed_each_time) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto result = cuda_test::run_without_device("cuda_memory_pool", {"--count", "1000", "--steps", "3"}).result;
  EXPECT_TRUE(result.has_line("FAIL  times with a wrong sum: 40, expected 0")) << result.text();  // no kernel is run
}

TEST(cuda_memory_pool, the_pool_keeps_memory_only_if_it_is_told_to) {
  const auto result = test_support::run("cuda_memory_pool", {"--steps", "10"});  // slow if others use the device
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto reserved = result.captures(" us +([0-9]+) MiB$");
  ASSERT_EQ(reserved.size(), 4U) << result.text();
  for (const int row : {0, 1, 2}) EXPECT_EQ(reserved[row], "0") << result.text();
  EXPECT_GE(std::stoi(reserved[3]), 4) << result.text();
}

TEST(cuda_memory_pool_steps, give_back_what_they_take) {
  if (!gpu::device_found() || !pools_supported()) GTEST_SKIP() << "no device with pools";
  Job job(100'003);
  job.in = gpu::DeviceArray<unsigned>(std::vector<unsigned>(job.count, 3));
  job.sum.zero();
  CUDA_CHECK(cudaDeviceSynchronize());
  const auto used_by_pool = [] {
    std::uint64_t bytes = 0;
    CUDA_CHECK(cudaMemPoolGetAttribute(default_pool(), cudaMemPoolAttrUsedMemCurrent, &bytes));
    return bytes;
  };
  for (void (*step)(Job&) : {with_one_array, with_malloc, with_pool}) {
    for (int i = 0; i < 1000; ++i) step(job);
    CUDA_CHECK(cudaStreamSynchronize(job.stream));
    EXPECT_EQ(used_by_pool(), 0U);
  }
  EXPECT_EQ(job.sum.to_host(), std::vector<unsigned>(job.count, 3 * 9 * 1000));
}

TEST(cuda_memory_pool_steps, with_the_pool_take_memory_of_the_pool) {
  if (!gpu::device_found() || !pools_supported()) GTEST_SKIP() << "no device with pools";
  const auto highest_use = [](Job& job, void (*step)(Job&)) {
    std::uint64_t bytes = 0;
    CUDA_CHECK(cudaMemPoolSetAttribute(default_pool(), cudaMemPoolAttrUsedMemHigh, &bytes));  // from now on
    step(job);
    CUDA_CHECK(cudaStreamSynchronize(job.stream));
    CUDA_CHECK(cudaMemPoolGetAttribute(default_pool(), cudaMemPoolAttrUsedMemHigh, &bytes));
    return bytes;
  };
  Job job(100'003);
  EXPECT_EQ(highest_use(job, with_one_array), 0U);
  EXPECT_EQ(highest_use(job, with_malloc), 0U);
  EXPECT_GE(highest_use(job, with_pool), job.count * sizeof(unsigned));
}

/// Keeps the device busy until `*go` is set, for some seconds at most.
__global__ void wait_for(const volatile int* go) {
  const long long start = clock64();
  while (*go == 0 && clock64() - start < 10'000'000'000) {
  }
}

/// What the steps below, which are mere functions, find and share.
struct Observed {
  int steps = 0, idle = 0;  // steps that have found nothing to do in the stream
  int* go = nullptr;
} observed;

void look(Job& job) {
  ++observed.steps;
  observed.idle += cudaStreamQuery(job.stream) == cudaSuccess;
  cudaGetLastError();  // forgets that the stream was not ready
}

/// Takes some milliseconds on the device.
void long_step(Job& job) {
  look(job);
  spin<<<1, 1, 0, job.stream>>>(50'000'000);
  CUDA_CHECK(cudaGetLastError());
}

/// The first, the third and so on end on the device when the host has begun the next one.
void step_that_needs_the_next(Job& job) {
  look(job);
  *observed.go = (observed.steps + 1) % 2;
  if (*observed.go == 1) return;
  wait_for<<<1, 1, 0, job.stream>>>(observed.go);
  CUDA_CHECK(cudaGetLastError());
}

TEST(cuda_memory_pool_microseconds, are_with_a_wait_after_each_step_or_without_one) {
  if (!gpu::device_found() || !pools_supported()) GTEST_SKIP() << "no device with pools";
  Job job(1000);
  job.in = gpu::DeviceArray<unsigned>(std::vector<unsigned>(job.count, 3));
  observed = {};
  int wrong = 0;
  EXPECT_GT(microseconds(job, 3, true, long_step, wrong), 1000);
  EXPECT_EQ(wrong, 5);  // nobody has added up anything
  EXPECT_EQ(observed.steps, 5 * 3);
  EXPECT_EQ(observed.idle, observed.steps);
  observed = {};
  CUDA_CHECK(cudaMallocHost(&observed.go, sizeof(int)));
  microseconds(job, 2, false, step_that_needs_the_next, wrong);
  EXPECT_EQ(wrong, 10);
  EXPECT_EQ(observed.steps, 5 * 2);
  EXPECT_EQ(observed.idle, 5);  // the first one each time
  CUDA_CHECK(cudaFreeHost(observed.go));
}

TEST(cuda_memory_pool_timing, a_pool_is_faster_than_malloc_but_for_a_host_that_waits_only_if_it_keeps_its_memory) {
  const auto result = test_support::run("cuda_memory_pool");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto after_all = result.captures(" ([0-9.]+) us +[0-9.]+ us +[0-9]+ MiB$");
  const auto after_each = result.captures(" ([0-9.]+) us +[0-9]+ MiB$");
  ASSERT_EQ(after_all.size(), 4U) << result.text();
  ASSERT_EQ(after_each.size(), 4U) << result.text();
  EXPECT_LT(std::stod(after_all[2]), std::stod(after_all[1])) << result.text();
  EXPECT_GT(std::stod(after_each[2]), std::stod(after_each[1])) << result.text();  // gives back its memory in each wait
  EXPECT_LT(std::stod(after_each[3]), std::stod(after_each[1])) << result.text();
  EXPECT_LT(std::stod(after_each[3]), std::stod(after_each[2])) << result.text();
}

TEST(cuda_memory_pool, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_memory_pool",
                          {{"--count", "1001", "--steps", "3"}, {"--count", "1024", "--steps", "3"}});
  cuda_test::expect_clean("cuda_memory_pool", {{"--count", "1001", "--steps", "3"}}, {"memcheck"},
                          {"--leak-check", "full"});
}

}  // namespace

// The program's output: OpenCL beside the host, and CUDA beside OpenCL where there is a GPU.

#include <unistd.h>

#include <algorithm>

#include "support/run.hpp"

namespace {

using test_support::bin;
using test_support::Result;
using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

/// The checks that need no GPU; false if there is no OpenCL device either.
bool opencl_side_is_right(const Result& result) {
  if (result.lines_with("^OpenCL: ").empty()) return false;
  EXPECT_EQ(result.lines_with("^compile the kernels +[0-9.]+ ms +by nvcc$").size(), 1U) << result.text();
  EXPECT_TRUE(result.has_line("ok    OpenCL: values that differ from the host's: 0")) << result.text();
  EXPECT_TRUE(result.has_line("ok    OpenCL: the dot product is near the exact one: yes")) << result.text();
  return true;
}

TEST(cuda_and_opencl, opencl_has_the_values_of_the_host) {
  for (const std::string count : {"1", "255", "256", "257", "100000", "1000003"}) {
    const auto result = run("cuda_and_opencl", {"--count", count});
    if (!opencl_side_is_right(result)) GTEST_SKIP() << result.text();
    EXPECT_THAT(result.exit_code, testing::AnyOf(0, skipped)) << result.text();
    for (const std::string kernel : {"add", "dot_product", "iterate"}) {
      EXPECT_EQ(result.lines_with("^" + kernel + " +[0-9.]+ ms +([0-9.]+ ms|-)$").size(), 1U) << result.text();
    }
  }
}

TEST(cuda_and_opencl, cuda_has_the_values_of_opencl) {
  for (const std::string count : {"1", "255", "256", "257", "100000", "1000003"}) {
    const auto result = run("cuda_and_opencl", {"--count", count});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err.back();
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    CUDA: values that differ from OpenCL's: 0")) << result.text();
    for (const std::string kernel : {"add", "dot_product", "iterate"}) {
      EXPECT_EQ(result.lines_with("^" + kernel + " +[0-9.]+ ms +[0-9.]+ ms$").size(), 1U) << result.text();
    }
  }
}

// The best of several runs, since a pause of the host may lie between the kernels of one.
TEST(cuda_and_opencl_timing, both_systems_are_about_equally_fast) {
  for (const std::string kernel : {"add", "dot_product", "iterate"}) {
    double by_opencl = 1e9, by_cuda = 1e9;
    for (int i = 0; i < 3; ++i) {
      const auto result = run("cuda_and_opencl", {"--count", "10000000"});
      if (result.exit_code == skipped) GTEST_SKIP() << result.err.back();
      const auto first = result.captures("^" + kernel + " +([0-9.]+) ms +[0-9.]+ ms$"),
                 second = result.captures("^" + kernel + " +[0-9.]+ ms +([0-9.]+) ms$");
      ASSERT_TRUE(first.size() == 1 && second.size() == 1) << result.text();
      by_opencl = std::min(by_opencl, std::stod(first[0]));
      by_cuda = std::min(by_cuda, std::stod(second[0]));
    }
    EXPECT_LT(by_opencl, 1.5 * by_cuda) << kernel;
    EXPECT_LT(by_cuda, 1.5 * by_opencl) << kernel;
    EXPECT_GT(by_opencl, 0.01) << kernel;  // ms: 80 MB or more in less time than any memory needs
  }
}

TEST(cuda_and_opencl, without_any_device_it_is_skipped_with_a_reason) {
  const auto result =
      run("cuda_and_opencl", {}, {.environment = {{"OCL_ICD_VENDORS", "/nonexistent"}, {"OCL_ICD_FILENAMES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("cuda_and_opencl: skipped, no OpenCL device: "));
}

TEST(cuda_and_opencl, without_a_gpu_a_wrong_result_of_opencl_is_no_skip) {
  const auto result =
      run("cuda_and_opencl", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}, {"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
}

TEST(cuda_and_opencl, is_clean_under_oclgrind) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "not in a sanitizer's build: Oclgrind has faults of its own, which end the program";
#endif
  if (access("/usr/bin/oclgrind", X_OK) != 0)
    GTEST_SKIP() << "no oclgrind; scripts/setup --with-test-dependencies installs it";
  const auto result =
      run("/usr/bin/oclgrind", {"--data-races", "--uninitialized", bin() + "/cuda_and_opencl", "--count", "1000"},
          {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_TRUE(opencl_side_is_right(result)) << result.text();
  EXPECT_EQ(result.err.size(), 1U) << result.text();  // that there is no CUDA device
}

}  // namespace

// Both targets, whole and in chunks.

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

void expect_right_sums(const std::string& target, const std::string& count, const std::string& chunk) {
  const auto result = run("cuda_vectorize", {"--target", target, "--count", count, "--chunk", chunk});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    sums: " + count)) << result.text();
  EXPECT_TRUE(result.has_line("ok    wrong sums: 0")) << result.text();
  EXPECT_TRUE(result.has_line("ok    vectors of different lengths are refused: yes")) << result.text();
}

TEST(cuda_vectorize, the_processor_adds_vectors_of_every_length) {
  for (const std::string count : {"0", "1", "255", "256", "257", "1000003"}) {
    expect_right_sums("cpu", count, "1000000");
  }
}

TEST(cuda_vectorize, the_gpu_adds_vectors_of_every_length) {
  for (const std::string count : {"0", "1", "255", "256", "257", "1000003"}) {
    expect_right_sums("gpu", count, "1000000");
    if (IsSkipped()) return;
  }
}

TEST(cuda_vectorize, chunks_of_any_size_make_the_same_result) {
  for (const std::string chunk : {"1", "255", "999", "1000", "1001"}) {
    expect_right_sums("gpu", "1000", chunk);
    if (IsSkipped()) return;
  }
}

TEST(cuda_vectorize, the_processor_needs_no_device) {
  const auto cpu = run("cuda_vectorize", {"--target", "cpu"}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(cpu.exit_code, 0) << cpu.text();
  const auto gpu = run("cuda_vectorize", {"--target", "gpu"}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(gpu.exit_code, skipped) << gpu.text();
  EXPECT_TRUE(gpu.out.empty()) << gpu.text();
}

TEST(cuda_vectorize, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_vectorize",
                          {{"--count", "1001", "--chunk", "301"}, {"--count", "1024", "--chunk", "256"}});
}

}  // namespace

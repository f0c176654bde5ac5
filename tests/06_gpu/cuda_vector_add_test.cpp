// Vector addition on a GPU: the program seen from outside. Catalogue: B3.C1, B3.1.

#include "support/run.hpp"

#include <filesystem>

namespace {

using test_support::Result;
using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

/// What the program checks without a device.
void expect_host_checks(const Result& result) {
  EXPECT_TRUE(result.has_line("ok    blocks of 256 for 1048576 elements: 4096")) << result.text();
  EXPECT_TRUE(result.has_line("ok    blocks of 256 for 1048577 elements: 4097")) << result.text();
  EXPECT_TRUE(result.has_line("ok    blocks of 256 for 1 element: 1")) << result.text();
  EXPECT_TRUE(result.has_line("ok    sums of the host that differ from the exact ones: 0")) << result.text();
  EXPECT_TRUE(result.has_line("ok    message if the last bit of one sum is wrong: Results are incorrect!"))
      << result.text();
}

TEST(cuda_vector_add, without_a_device_checks_the_host_and_is_skipped_with_a_reason) {
  const auto result = run("cuda_vector_add", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  expect_host_checks(result);
  EXPECT_EQ(result.out.size(), 5U) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("cuda_vector_add: skipped, no CUDA device: "));
}

TEST(cuda_vector_add, a_wrong_host_sum_is_no_skip) {
  const auto result =
      run("cuda_vector_add", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}, {"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
}

TEST(cuda_vector_add, every_sum_has_the_bits_of_the_hosts) {
  const auto result = run("cuda_vector_add", {"--large", "0"});
  expect_host_checks(result);
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    sums that differ from the host's: 0")) << result.text();
  EXPECT_TRUE(result.has_line("ok    message: Results are correct!")) << result.text();
  const auto first = result.captures("^first sums:((?: -?\\d+\\.\\d+)+)$");
  ASSERT_EQ(first.size(), 1U) << result.text();
  EXPECT_EQ(std::count(first[0].begin(), first[0].end(), ' '), 10);
}

TEST(cuda_vector_add, the_guard_holds_at_every_count) {
  for (const std::string count : {"1", "255", "256", "257", "1048575", "1048577"}) {
    const auto result = run("cuda_vector_add", {"--count", count, "--large", "0"});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    bits of the element after the last: 4294967295")) << result.text();
  }
}

TEST(cuda_vector_add, four_a_thread_is_right_at_every_remainder) {
  for (const std::string count : {"1", "3", "4", "5", "3073", "1000002", "1000003"}) {
    const auto result = run("cuda_vector_add", {"--count", "1", "--large", count});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    wrong sums in the large vector, four a thread: 0")) << result.text();
  }
}

TEST(cuda_vector_add, a_refused_call_names_itself_the_error_and_the_line) {
  // Three arrays of 256 GiB.
  const auto result = run("cuda_vector_add", {"--count", "1", "--large", "68719476736"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 3) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::ContainsRegex("cudaMalloc.*out of memory \\(cuda_memory.hpp:[0-9]+\\)"));
}

TEST(cuda_vector_add, is_clean_under_compute_sanitizer) {
  const std::string sanitizer = "/usr/local/cuda/bin/compute-sanitizer";
  if (!std::filesystem::exists(sanitizer)) GTEST_SKIP() << "no " << sanitizer;
  for (const std::string tool : {"memcheck", "racecheck", "initcheck", "synccheck"}) {
    const auto result =
        run(sanitizer, {"--tool", tool, "--error-exitcode", "9", test_support::bin() + "/cuda_vector_add", "--count",
                        "10001", "--large", "10003"});
    if (result.exit_code == skipped) GTEST_SKIP() << "no device";
    EXPECT_EQ(result.exit_code, 0) << tool << '\n' << result.text();
  }
}

}  // namespace

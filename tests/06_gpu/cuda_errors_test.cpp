// The program's output, line by line, and what compute-sanitizer says of the kernel that stores through a null pointer.

#include <string>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

/// The line of one mistake: what the three calls after it return.
std::string row(const std::string& mistake) {
  const auto result = run("cuda_errors", {"--mistake", mistake});
  if (result.exit_code == skipped) return "skipped";
  for (const std::string& line : result.out) {
    if (line.find(mistake + " ") != 0) continue;
    std::string words;
    for (const char c : line.substr(mistake.size())) {
      if (c != ' ' || (!words.empty() && words.back() != ' ')) words += c;
    }
    return words + " exit " + std::to_string(result.exit_code);
  }
  return result.text();
}

TEST(cuda_errors, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_errors", "cuda_errors_next_job"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_errors, what_is_refused_is_told_once_and_what_fails_in_a_kernel_stays) {
  if (row("a block of 2048 threads") == "skipped") GTEST_SKIP() << "no device";
  // Which of the two depends on the toolkit's version.
  EXPECT_THAT(row("a block of 2048 threads"),
              testing::MatchesRegex("cudaErrorInvalid(Value|Configuration) cudaSuccess cudaSuccess exit 0"));
  EXPECT_EQ(row("an array of 2^60 bytes"), "cudaErrorMemoryAllocation cudaSuccess cudaSuccess exit 0");
  EXPECT_EQ(row("a store through a null pointer"),
            "cudaSuccess cudaErrorIllegalAddress cudaErrorIllegalAddress exit 1");
  EXPECT_EQ(row("an assertion that fails"), "cudaSuccess cudaErrorAssert cudaErrorAssert exit 1");
}

TEST(cuda_errors, the_program_shows_all_mistakes_and_who_is_told) {
  const auto result = run("cuda_errors");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  ASSERT_EQ(result.out.size(), 10U) << result.text();
  EXPECT_EQ(result.lines_with("^an? .* (cudaSuccess|cudaError\\w+) +(cudaSuccess|cudaError\\w+) +\\w+$").size(), 4U)
      << result.text();
  EXPECT_EQ(result.captures("^as usual +(.+)$"), std::vector<std::string>{"the copy"}) << result.text();
  EXPECT_EQ(result.captures("^with CUDA_LAUNCH_BLOCKING=1 +(.+)$"),
            std::vector<std::string>{"cudaGetLastError after the second launch"})
      << result.text();
  EXPECT_TRUE(result.has_line("ok    errors that stay until the process ends: 2")) << result.text();
}

TEST(cuda_errors, an_error_that_no_call_has_returned_is_no_success) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  for (const std::string how : {"as usual", "with CUDA_LAUNCH_BLOCKING=1"}) {
    // No kernel is run, so none makes a mistake.
    const auto result = cuda_test::run_without_device("cuda_errors", {"--mistake", how}).result;
    EXPECT_EQ(result.exit_code, 1) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
  }
}

TEST(cuda_errors, a_mistake_that_it_does_not_know_is_refused) {
  const auto result = run("cuda_errors", {"--mistake", "another one"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
}

TEST(cuda_errors, an_assertion_names_file_line_and_condition) {
  const auto result = run("cuda_errors", {"--mistake", "an assertion that fails"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_THAT(result.text(),
              testing::ContainsRegex("cuda_errors.cu:[0-9]+: .*thread: .0,0,0. Assertion `value == 42` failed"));
}

TEST(cuda_errors, memcheck_names_the_kernel_and_the_address) {
  const auto [result, not_run] =
      cuda_test::run_under("memcheck", "cuda_errors", {"--mistake", "a store through a null pointer"});
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  EXPECT_EQ(result.exit_code, 9) << result.text();
  EXPECT_THAT(result.text(), testing::HasSubstr("Invalid __global__ write of size 4 bytes"));
  EXPECT_THAT(result.text(), testing::ContainsRegex("store\\(int ?\\*\\)"));
  EXPECT_THAT(result.text(), testing::ContainsRegex("cuda_errors.cu:[0-9]+"));
}

TEST(cuda_errors, what_is_refused_is_clean_under_memcheck) {
  const auto [result, not_run] = cuda_test::run_under(
      "memcheck", "cuda_errors", {"--mistake", "a block of 2048 threads"}, {"--report-api-errors", "no"});
  if (!not_run.empty()) GTEST_SKIP() << not_run;
  EXPECT_EQ(result.exit_code, 0) << result.text();
}

TEST(cuda_errors_next_job, all_jobs_after_the_faulty_one_are_refused) {
  const auto result = run("cuda_errors_next_job");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_EQ(result.captures("^job (\\d+): an illegal memory access was encountered$"),
            (std::vector<std::string>{"1000000000000", "3", "999", "0"}))
      << result.text();
}

}  // namespace

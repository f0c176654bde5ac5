// The programs seen from outside.

#include <sstream>
#include <string>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

const std::string kinds[] = {"pageable memory, copied", "pinned memory, copied", "pinned memory, mapped",
                             "managed memory"};

TEST(cuda_memory_kinds, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_memory_kinds", "cuda_memory_kinds_no_wait"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_memory_kinds, the_kernel_reads_every_kind_at_every_size) {
  for (const std::string count : {"1", "255", "256", "257", "1000003"}) {
    const auto result = run("cuda_memory_kinds", {"--count", count});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), 1 + std::size(kinds) + 1) << result.text();
    for (const std::string& kind : kinds) {
      EXPECT_EQ(result.lines_with("^" + kind + "( +[0-9.]+ ms){2}$").size(), 1U) << result.text();
    }
    EXPECT_EQ(result.out.back(), "ok    searches that did not find the last number: 0");
  }
}

/// Milliseconds until the kernel has read it the first time, and again.
std::vector<double> times(const test_support::Result& result, const std::string& kind) {
  const auto lines = result.lines_with("^" + kind + "( +[0-9.]+ ms){2}$");
  if (lines.size() != 1) return {-1, -1};
  std::istringstream text(lines[0].substr(kind.size()));
  double first = -1, again = -1;
  std::string unit;
  text >> first >> unit >> again;
  return {first, again};
}

TEST(cuda_memory_kinds_timing, copies_and_moved_pages_stay_on_the_device_and_mapped_memory_does_not) {
  const auto result = run("cuda_memory_kinds");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto pageable = times(result, kinds[0]), pinned = times(result, kinds[1]), mapped = times(result, kinds[2]),
             managed = times(result, kinds[3]);
  EXPECT_GT(pageable[0], pinned[0]) << result.text();
  for (const auto& kind : {pageable, pinned, managed}) EXPECT_GT(kind[0], 5 * kind[1]) << result.text();
  EXPECT_LT(mapped[0], 1.5 * mapped[1]) << result.text();
  EXPECT_GT(mapped[1], 5 * pinned[1]) << result.text();
}

TEST(cuda_memory_kinds, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_memory_kinds", {{"--count", "100003"}, {"--count", "65536"}});
  cuda_test::expect_clean("cuda_memory_kinds", {{"--count", "1025"}}, {"memcheck"}, {"--leak-check", "full"});
}

TEST(cuda_memory_kinds, the_bench_is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_memory_kinds_bench", {{"--count", "100003", "--ring", "1", "--steps", "999"}},
                          {"memcheck", "racecheck", "initcheck"});
}

}  // namespace

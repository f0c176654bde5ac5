// The order of a ring, in the process; the programs seen from outside.

#include "06_gpu/cuda_memory_kinds/rings.cuh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
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

TEST(cuda_memory_kinds_rings, a_ring_leads_through_all_places_before_it_is_closed) {
  for (const std::size_t places : {1U, 2U, 3U, 512U, 8192U}) {
    const std::vector<std::size_t> next = random_cycle(places);
    std::vector<bool> seen(places);
    std::size_t at = 0, steps = 0;
    for (; !seen[at]; at = next[at], ++steps) seen[at] = true;
    EXPECT_EQ(at, 0U) << places;
    EXPECT_EQ(steps, places);
    EXPECT_EQ(after(next, places), 0U) << places;
    EXPECT_EQ(after(next, places + 1), next[0]) << places;
  }
}

TEST(cuda_memory_kinds, the_kernel_reads_every_kind_at_every_size) {
  for (const std::string count : {"1", "256", "257", "1000003"}) {
    const auto result = run("cuda_memory_kinds", {"--count", count});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), 1 + std::size(kinds) + 1 + 6 + 2) << result.text();
    for (const std::string& kind : kinds) {
      EXPECT_EQ(result.lines_with("^" + kind + "( +[0-9.]+ ms){2}$").size(), 1U) << result.text();
    }
    EXPECT_EQ(result.lines_with("^(shared|constant|global|pinned) memory.* +[0-9.]+ ns$").size(), 6U) << result.text();
    EXPECT_TRUE(result.has_line("ok    rounds in which a search missed the last number: 0")) << result.text();
    EXPECT_EQ(result.out.back(), "ok    rings that end in the wrong place: 0");
  }
}

TEST(cuda_memory_kinds, the_rings_fit_into_one_cache_into_the_next_and_into_none) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto result = cuda_test::run_without_device("cuda_memory_kinds", {"--count", "1000"}).result;
  EXPECT_EQ(
      result.captures("^(.+?) +[0-9.]+ ns$"),
      (std::vector<std::string>{"shared memory", "constant memory", "global memory, 16 KiB", "global memory, 2 MiB",
                                "global memory, 256 MiB", "pinned memory of the host, 16 MiB"}))
      << result.text();
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

TEST(cuda_memory_kinds_timing, a_load_takes_longer_the_farther_away_the_memory_is) {
  const auto result = run("cuda_memory_kinds");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto times = result.captures(" ([0-9.]+) ns$");
  ASSERT_EQ(times.size(), 6U) << result.text();
  for (const int i : {2, 3, 4}) EXPECT_LT(std::stod(times[i]), std::stod(times[i + 1])) << result.text();
  EXPECT_LT(std::stod(times[2]), std::stod(times[3]) / 4) << result.text();  // L1, and not L2
  EXPECT_LT(std::stod(times[0]), std::stod(times[3])) << result.text();
  EXPECT_LT(std::stod(times[1]), std::stod(times[3])) << result.text();
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

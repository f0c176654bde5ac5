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
  for (const std::string count : {"1", "99", "101", "256", "257", "1000003"}) {
    const auto result = run("cuda_memory_kinds", {"--count", count});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), 1 + std::size(kinds) + 1) << result.text();
    for (const std::string& kind : kinds) {
      EXPECT_EQ(result.lines_with("^" + kind + "( +[0-9.]+ ms){3}$").size(), 1U) << result.text();
    }
    EXPECT_THAT(result.out[0],
                testing::MatchesRegex(count == "1000003" ? "a kernel reads +all 4 MB +all again +100 numbers"
                                                         : "a kernel reads +all 0 MB +all again +100 numbers"));
    EXPECT_EQ(result.out.back(), "ok    times that a kernel missed the last number: 0");
  }
}

/// Milliseconds until the kernel has read all numbers, all of them again, and only a few.
struct Times {
  double all = -1, again = -1, few = -1;
};
Times times(const test_support::Result& result, const std::string& kind) {
  const auto lines = result.lines_with("^" + kind + "( +[0-9.]+ ms){3}$");
  Times read;
  if (lines.size() != 1) return read;
  std::istringstream text(lines[0].substr(kind.size()));
  std::string unit;
  text >> read.all >> unit >> read.again >> unit >> read.few;
  return read;
}

/// Beside other tests, too: a copy of 134 MB takes 25 times as long as to read it once more on the device.
TEST(cuda_memory_kinds, a_copied_array_is_read_again_sooner_than_a_few_numbers_are_copied_and_a_mapped_one_later) {
  const auto result = run("cuda_memory_kinds");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto pinned = times(result, kinds[1]), mapped = times(result, kinds[2]);
  EXPECT_LT(2 * pinned.again, pinned.few) << result.text();
  EXPECT_LT(2 * mapped.few, mapped.again) << result.text();
}

TEST(cuda_memory_kinds_timing, copies_and_moved_pages_stay_on_the_device_and_mapped_memory_does_not) {
  const auto result = run("cuda_memory_kinds");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto pageable = times(result, kinds[0]), pinned = times(result, kinds[1]), mapped = times(result, kinds[2]),
             managed = times(result, kinds[3]);
  EXPECT_GT(pageable.all, pinned.all) << result.text();
  for (const auto& kind : {pageable, pinned, managed}) EXPECT_GT(kind.all, 5 * kind.again) << result.text();
  EXPECT_LT(mapped.all, 1.5 * mapped.again) << result.text();
  EXPECT_GT(mapped.again, 5 * pinned.again) << result.text();
}

TEST(cuda_memory_kinds_timing, the_next_kernel_loads_mapped_memory_again_even_if_it_would_fit_into_a_cache) {
  const auto result = run("cuda_memory_kinds", {"--count", "1000000"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const double mapped = times(result, kinds[2]).again;
  ASSERT_GT(mapped, 0) << result.text();
  EXPECT_GT(mapped, 3 * times(result, kinds[1]).again) << result.text();
}

TEST(cuda_memory_kinds_timing, a_few_numbers_come_soonest_from_mapped_memory) {
  const auto result = run("cuda_memory_kinds");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const double mapped = times(result, kinds[2]).few;
  ASSERT_GT(mapped, 0) << result.text();
  for (const int other : {0, 1, 3}) EXPECT_GT(times(result, kinds[other]).few, 2 * mapped) << result.text();
}

TEST(cuda_memory_kinds_timing, a_load_takes_longer_the_farther_away_the_memory_is) {
  const auto result = run("cuda_memory_kinds_bench", {"--count", "1000", "--rounds", "3"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto median = [&](const std::string& memory) {
    const auto found = result.captures("^" + memory + " +([0-9.]+) ns ");
    return found.size() == 1 ? std::stod(found[0]) : -1;
  };
  const double near = median("global memory, 16 KiB"), farther = median("global memory, 2 MiB"),
               far = median("global memory, 1024 MiB"), host = median("pinned memory of the host, 16 MiB");
  ASSERT_GT(near, 0) << result.text();
  EXPECT_LT(near, farther / 4) << result.text();  // L1, and not L2
  EXPECT_LT(farther, far) << result.text();
  EXPECT_LT(far, host) << result.text();
  const double host_near = median("pinned memory of the host, 16 KiB");
  ASSERT_GT(host_near, 0) << result.text();
  EXPECT_LT(host_near, farther) << result.text();  // within a kernel, L1 keeps what came over the bus
  for (const std::string memory : {"shared memory", "constant memory"}) {
    EXPECT_GT(median(memory), 0) << result.text();
    EXPECT_LT(median(memory), farther) << result.text();
  }
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

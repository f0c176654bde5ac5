// The program seen from outside, and where its functions put the pages, as CUDA itself says.

#define main \
  cuda_managed_memory_main  // the functions stand in the program's file, and the test has a main() of its own
#include "06_gpu/cuda_managed_memory/cuda_managed_memory.cu"
#undef main

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;

const std::string ways[] = {"copies", "managed, moved when touched", "managed, prefetched",
                            "managed, stays on the host"};

std::vector<double> times(const test_support::Result& result, const std::string& way) {
  std::vector<double> values;
  const auto lines = result.lines_with("^" + way + "( +[0-9.]+ ms)+$");
  if (lines.size() != 1) return std::vector<double>(5, -1);
  std::istringstream text(lines[0].substr(way.size()));
  std::string unit;
  for (double value; text >> value >> unit;) values.push_back(value);
  return values;
}

TEST(cuda_managed_memory, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_managed_memory", "cuda_managed_memory_no_wait"}) {
    const auto result = test_support::run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_managed_memory, every_way_is_right_at_every_size) {
  for (const std::string count : {"1", "255", "1024", "1025", "1000003"}) {  // less than a page, whole pages, odd
    const auto result = test_support::run("cuda_managed_memory", {"--count", count});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), 1 + std::size(ways) + 1) << result.text();
    for (const std::string& way : ways) {
      const auto parts = times(result, way);
      ASSERT_EQ(parts.size(), 5U) << result.text();
      // The last column is the sum of the others, which are rounded.
      EXPECT_NEAR(parts[4], parts[0] + parts[1] + parts[2] + parts[3], 0.03) << result.text();
    }
    EXPECT_EQ(result.out.back(), "ok    wrong numbers: 0");
  }
}

/// Managed memory on a device that moves its pages.
class cuda_managed_memory_pages : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::device_found() || !pages_move()) GTEST_SKIP() << "no device that moves pages";
    array.emplace(count);
    numbers = array->data();
    std::iota(numbers, numbers + count, 7U);
  }

  int attribute(cudaMemRangeAttribute attribute) {
    int value = -9;
    CUDA_CHECK(cudaMemRangeGetAttribute(&value, sizeof(value), attribute, numbers, array->bytes()));
    return value;
  }

  static constexpr std::size_t count = 1 << 20;
  std::optional<ManagedArray<unsigned>> array;
  unsigned* numbers = nullptr;
};

TEST_F(cuda_managed_memory_pages, have_no_advice_and_no_prefetch_at_first) {
  EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocation), cudaInvalidDeviceId);
  EXPECT_EQ(attribute(cudaMemRangeAttributePreferredLocation), cudaInvalidDeviceId);
  EXPECT_EQ(attribute(cudaMemRangeAttributeReadMostly), 0);
}

TEST_F(cuda_managed_memory_pages, are_prefetched_to_the_device_and_to_the_host) {
  prefetch(numbers, array->bytes(), on_device());
  CUDA_CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocation), 0);
  prefetch(numbers, array->bytes(), on_host());
  CUDA_CHECK(cudaDeviceSynchronize());
  EXPECT_EQ(attribute(cudaMemRangeAttributeLastPrefetchLocation), cudaCpuDeviceId);
  EXPECT_EQ(wrong_numbers(numbers, count, 7), 0U);
}

TEST_F(cuda_managed_memory_pages, stay_on_the_host_and_are_mapped_on_the_device) {
  stay_on_host(numbers, array->bytes());
  EXPECT_EQ(attribute(cudaMemRangeAttributePreferredLocation), cudaCpuDeviceId);
  EXPECT_EQ(attribute(cudaMemRangeAttributeAccessedBy), 0);
  EXPECT_EQ(attribute(cudaMemRangeAttributeReadMostly), 0);
}

TEST_F(cuda_managed_memory_pages, a_wrong_number_is_counted) {
  const auto nothing = [] {};
  const Addresses at{numbers, numbers, numbers};
  EXPECT_EQ(run("right", at, count, nothing, nothing), 0U);
  // A number that is changed behind the kernel is wrong in each of three rounds.
  EXPECT_EQ(run("wrong", at, count, nothing,
                [&] {
                  CUDA_CHECK(cudaDeviceSynchronize());
                  numbers[count - 1] = 0;
                }),
            3U);
}

TEST_F(cuda_managed_memory_pages, results_are_looked_for_where_they_are_said_to_be) {
  const auto nothing = [] {};
  std::vector<unsigned> elsewhere(count, 0);
  EXPECT_EQ(run("not copied", {numbers, numbers, elsewhere.data()}, count, nothing, nothing), 3 * count);
  EXPECT_EQ(run("copied", {numbers, numbers, elsewhere.data()}, count, nothing,
                [&] { CUDA_CHECK(cudaMemcpy(elsewhere.data(), numbers, array->bytes(), cudaMemcpyDefault)); }),
            0U);
}

TEST(cuda_managed_memory_timing, pages_that_are_prefetched_cost_the_kernel_and_the_host_nothing) {
  const auto result = test_support::run("cuda_managed_memory");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto copies = times(result, ways[0]), touched = times(result, ways[1]), prefetched = times(result, ways[2]),
             stays = times(result, ways[3]);
  EXPECT_GT(touched[1], 5 * prefetched[1]) << result.text();
  EXPECT_GT(stays[1], 5 * prefetched[1]) << result.text();
  EXPECT_GT(touched[3], 2 * prefetched[3]) << result.text();
  EXPECT_GT(prefetched[0], 5 * prefetched[1]) << result.text();
  EXPECT_LT(prefetched[1], 2 * copies[1]) << result.text();
  EXPECT_LT(stays[4], copies[4]) << result.text();
}

TEST(cuda_managed_memory, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_managed_memory", {{"--count", "100003"}, {"--count", "65536"}});
  cuda_test::expect_clean("cuda_managed_memory", {{"--count", "1025"}}, {"memcheck"}, {"--leak-check", "full"});
}

TEST(cuda_managed_memory, the_bench_is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_managed_memory_bench", {{"--count", "100003"}, {"--count", "65536"}});
}

}  // namespace

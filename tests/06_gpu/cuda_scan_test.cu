// The look-back and the compaction in the process; the program seen from outside. The sizes are around those of warps,
// tiles and the 32 tiles that a warp looks back at.

#include "06_gpu/cuda_scan/compact.cuh"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

constexpr int tile = 8192;

/// The rows below the copy's: what is done, and how many bytes per number it moves.
std::vector<std::pair<std::string, int>> ways(unsigned count) {
  const int steps = std::max<int>(1, std::bit_width(count - 1));
  return {{fmt::format("sums by doubling, {} launches", steps), 8 * steps},
          {"sums in three launches", 12},
          {"sums, those before are known", 8},
          {"sums in one launch", 8},
          {"sums by cub::DeviceScan", 8}};
}

/// The number in brackets of the only line that has one.
double number_in(const test_support::Result& result, const std::string& pattern) {
  const auto found = result.captures(pattern);
  EXPECT_EQ(found.size(), 1U) << pattern << '\n' << result.text();
  return found.size() == 1 ? std::stod(found[0]) : std::nan("");
}

void expect_rows(const test_support::Result& result, int count) {
  ASSERT_EQ(result.out.size(), ways(count).size() + 3) << result.text();
  EXPECT_TRUE(result.out[0].starts_with(fmt::format("{} numbers ", count))) << result.text();
  const double copy = number_in(result, "^copy, for comparison +8 +([0-9.]+) us$");
  for (const auto& [way, bytes] : ways(count)) {
    const std::string row = fmt::format("^{} +{} +", way, bytes);
    const double rounding = 0.05 * (bytes / 8.0 + 1) + 1e-6;
    EXPECT_NEAR(number_in(result, row + "([0-9.]+) us +[0-9.]+ us$"), copy * bytes / 8, rounding) << result.text();
    EXPECT_GT(number_in(result, row + "[0-9.]+ us +([0-9.]+) us$"), 0) << result.text();
  }
}

void expect_right(const std::vector<int>& counts) {
  for (const int count : counts) {
    const auto result =
        run("cuda_scan", {"--count", std::to_string(count)}, {.environment = {{"COOKBOOK_GUARD", "1"}}});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << count << '\n' << result.text();
    expect_rows(result, count);
    EXPECT_EQ(result.out.back(), "ok    rows with the right numbers: 6") << count;
  }
}

__global__ void take(Tiles tiles, int* taken) { taken[blockIdx.x] = take_tile(tiles); }

TEST(cuda_scan_look_back, a_block_takes_the_next_number_from_the_counter) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  gpu::DeviceArray<unsigned long long> counter(std::vector<unsigned long long>{5});
  gpu::DeviceArray<int> taken(3);
  take<<<3, 32>>>(Tiles{counter.data(), nullptr}, taken.data());
  CUDA_CHECK(cudaGetLastError());
  EXPECT_THAT(taken.to_host(), testing::UnorderedElementsAre(5, 6, 7));
}

__global__ void look(Tiles tiles, int tile, unsigned* sums) { sums[threadIdx.x] = look_back(tiles, tile); }

TEST(cuda_scan_look_back, adds_up_single_tiles_until_one_is_known_with_all_before) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const int tile : {0, 1, 31, 32, 33, 64, 65, 131}) {
    for (const int complete : {-1, 0, 1, 30, 31, 32, 33, 70, 130}) {  // the last tile that is known with all before it
      if (complete >= tile) continue;
      std::vector<unsigned long long> states(tile + 1);
      unsigned all = 0;
      for (int i = 0; i < tile; ++i) {
        const unsigned mine = 1000 + i;
        all += mine;
        states[i] = i <= complete ? with_all_before | all : tile_alone | mine;
      }
      gpu::DeviceArray<unsigned long long> on_device(states);
      gpu::DeviceArray<unsigned> sums(32);
      look<<<1, 32>>>(Tiles{nullptr, on_device.data()}, tile, sums.data());
      CUDA_CHECK(cudaGetLastError());
      EXPECT_THAT(sums.to_host(), testing::Each(all)) << tile << ' ' << complete;
    }
  }
}

/// A warp looks back while the states come one by one, from the nearest to the farthest.
__global__ void look_while_told(Tiles tiles, int tile, unsigned* sums) {
  if (blockIdx.x == 0) {
    sums[threadIdx.x] = look_back(tiles, tile);
  } else if (threadIdx.x == 0) {
    for (int i = tile - 1; i >= 0; --i) {
      __nanosleep(2'000);
      State(tiles.states[i]).store((i == 0 ? with_all_before : tile_alone) | 1ULL, cuda::memory_order_relaxed);
    }
  }
}

TEST(cuda_scan_look_back, waits_for_what_it_needs) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  gpu::DeviceArray<unsigned long long> states(70);
  gpu::DeviceArray<unsigned> sums(32);
  states.zero();
  look_while_told<<<2, 32>>>(Tiles{nullptr, states.data()}, 70, sums.data());
  CUDA_CHECK(cudaGetLastError());
  EXPECT_THAT(sums.to_host(), testing::Each(70U));
}

TEST(cuda_scan_compaction, keeps_the_odd_numbers_in_their_order) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const int count : {1, 2, 3, 130, tile - 1, tile, tile + 1, 33 * tile, 65 * tile + 7, 1'000'003}) {
    std::vector<unsigned> numbers(count), expected;
    for (int i = 0; i < count; ++i) numbers[i] = (static_cast<unsigned>(i) * 2'654'435'761U) >> 16;
    std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(expected), IsOdd{});
    const gpu::DeviceArray<unsigned> in(numbers);
    gpu::DeviceArray<unsigned> out(count), kept(1);
    out.poison();
    TileMemory memory(tiles_of(count));
    compact<<<tiles_of(count), threads>>>(in.data(), out.data(), count, kept.data(), memory.cleared(nullptr));
    CUDA_CHECK(cudaGetLastError());
    ASSERT_EQ(kept.to_host()[0], expected.size()) << count;
    expected.resize(count, 0xFFFFFFFF);  // nothing is stored behind them
    EXPECT_TRUE(out.to_host() == expected) << count;
  }
}

TEST(cuda_scan_compaction, keeps_all_or_none) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  constexpr int count = 40 * tile + 5;
  for (const unsigned value : {3U, 4U}) {
    const gpu::DeviceArray<unsigned> in(std::vector<unsigned>(count, value));
    gpu::DeviceArray<unsigned> out(count), kept(1);
    out.poison();
    TileMemory memory(tiles_of(count));
    compact<<<tiles_of(count), threads>>>(in.data(), out.data(), count, kept.data(), memory.cleared(nullptr));
    CUDA_CHECK(cudaGetLastError());
    EXPECT_EQ(kept.to_host()[0], value == 3 ? count : 0U) << value;
    EXPECT_THAT(out.to_host(), testing::Each(value == 3 ? 3U : 0xFFFFFFFF)) << value;
  }
}

TEST(cuda_scan, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_scan", "cuda_scan_backwards"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_scan, is_right_within_a_tile) { expect_right({1, 2, 3, 127, 130, 513, tile - 1, tile}); }

TEST(cuda_scan, is_right_around_whole_tiles_and_groups_of_32) {
  expect_right({tile + 1, 2 * tile, 32 * tile, 32 * tile + 1, 33 * tile, 65 * tile + 7});
}

TEST(cuda_scan, is_right_when_the_tile_sums_fill_tiles_themselves) {
  expect_right({tile * tile - 1, tile * tile + 1, 50'000'003});
}

TEST(cuda_scan, compares_each_time_with_the_copys) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  for (const int count : {1, 2, 3, 1'000'003}) {
    const auto [result, record] = cuda_test::run_without_device("cuda_scan", {"--count", std::to_string(count)});
    expect_rows(result, count);  // where no device is, everything takes 1 ms
    EXPECT_EQ(number_in(result, "^sums in one launch +8 +1000.0 us +([0-9.]+) us$"), 1000) << result.text();
    EXPECT_EQ(number_in(result, "^sums in three launches +12 +1500.0 us +([0-9.]+) us$"), 1000) << result.text();
  }
}

// One tile: shuffles, barriers and bounds. Two and a bit: what blocks tell one another.
TEST(cuda_scan, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_scan", {{"--count", "17001"}, {"--count", "16384"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"});
}

TEST(cuda_scan_timing, one_launch_is_faster_than_three_and_these_than_doubling) {
  const auto result = run("cuda_scan");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto time = [&](const std::string& way) { return number_in(result, "^" + way + ".* us +([0-9.]+) us$"); };
  EXPECT_LT(time("sums in one launch"), time("sums in three launches")) << result.text();
  EXPECT_LT(time("sums, those before are known"), time("sums in one launch")) << result.text();
  EXPECT_LT(time("sums in three launches"), time("sums by doubling")) << result.text();
}

}  // namespace

// The look-back in the process; the program seen from outside, at sizes around those of warps, tiles and the 32 tiles
// that a warp looks back at.

#include "06_gpu/cuda_scan/look_back.cuh"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

constexpr int tile = 8192;
const std::string ways[] = {
    "copy, for comparison",    "sums by doubling",          "sums in three launches",          "sums in one launch",
    "sums by cub::DeviceScan", "odd numbers in one launch", "odd numbers by cub::DeviceSelect"};

void expect_right(const std::vector<int>& counts) {
  for (const int count : counts) {
    const auto result =
        run("cuda_scan", {"--count", std::to_string(count)}, {.environment = {{"COOKBOOK_GUARD", "1"}}});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << count << '\n' << result.text();
    ASSERT_EQ(result.out.size(), std::size(ways) + 1) << result.text();
    for (const std::string& way : ways) {
      EXPECT_EQ(result.lines_with("^" + way + " +[0-9]+ GB/s$").size(), 1U) << way << '\n' << result.text();
    }
    EXPECT_EQ(result.out.back(), "ok    ways with a wrong number: 0") << count;
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

// One tile: shuffles, barriers and bounds. Two and a bit: what blocks tell one another.
TEST(cuda_scan, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_scan", {{"--count", "17001"}, {"--count", "16384"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"});
}

TEST(cuda_scan_timing, one_launch_is_faster_than_three_and_these_than_doubling) {
  const auto result = run("cuda_scan");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto rate = [&](const std::string& way) {
    const auto found = result.captures("^" + way + " +([0-9]+) GB/s$");
    return found.empty() ? 0 : std::stod(found[0]);
  };
  EXPECT_GT(rate("sums in one launch"), rate("sums in three launches")) << result.text();
  EXPECT_GT(rate("sums in three launches"), rate("sums by doubling")) << result.text();
}

}  // namespace

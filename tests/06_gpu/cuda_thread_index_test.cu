// The formula for a thread's number with every coordinate of many grids, on the host and beside the library's number on
// the device, and the program seen from outside. Catalogue: 6.C3, 8.C6, B2.5, B2.10.

#define main main_of_the_program  // its grid_for() is tested from inside, too
#include "06_gpu/cuda_thread_index/cuda_thread_index.cu"
#undef main

#include <cooperative_groups.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "cookbook/cuda.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

constexpr int skipped = 77;

/// Calls visit(position) for every position of the box, x fastest.
template <typename Visit>
void for_each_position(dim3 box, Visit visit) {
  for (unsigned z = 0; z < box.z; ++z) {
    for (unsigned y = 0; y < box.y; ++y) {
      for (unsigned x = 0; x < box.x; ++x) visit(uint3{x, y, z});
    }
  }
}

TEST(cuda_thread_index_rank, positions_of_a_box_are_numbered_with_x_fastest) {
  EXPECT_EQ(rank_in(dim3(4, 3, 2), uint3{0, 0, 0}), 0U);
  EXPECT_EQ(rank_in(dim3(4, 3, 2), uint3{3, 0, 0}), 3U);
  EXPECT_EQ(rank_in(dim3(4, 3, 2), uint3{0, 1, 0}), 4U);
  EXPECT_EQ(rank_in(dim3(4, 3, 2), uint3{0, 0, 1}), 12U);
  EXPECT_EQ(rank_in(dim3(4, 3, 2), uint3{3, 2, 1}), 23U);
}

/// The thread's number in the grid by rank_in(): the blocks before its own are full, then comes its place in its own.
__host__ __device__ unsigned rank_in_grid(dim3 grid, dim3 block, uint3 block_index, uint3 thread_index) {
  return rank_in(grid, block_index) * block.x * block.y * block.z + rank_in(block, thread_index);
}

TEST(cuda_thread_index_rank, numbers_the_threads_block_by_block_without_a_gap) {
  for (const dim3 grid : {dim3(1), dim3(7), dim3(3, 2), dim3(2, 3, 4)}) {
    for (const dim3 block : {dim3(1), dim3(256), dim3(8, 4), dim3(4, 2, 3)}) {
      unsigned expected = 0;
      for_each_position(grid, [&](uint3 block_index) {
        for_each_position(block, [&](uint3 thread_index) {
          ASSERT_EQ(rank_in_grid(grid, block, block_index, thread_index), expected);
          ++expected;
        });
      });
      EXPECT_EQ(expected, grid.x * grid.y * grid.z * block.x * block.y * block.z);
    }
  }
}

/// Every thread writes its number, as the library knows it, to the place that our formula gives for it.
__global__ void write_ranks(unsigned* ranks) {
  const auto rank = static_cast<unsigned>(cooperative_groups::this_grid().thread_rank());
  ranks[rank_in_grid(gridDim, blockDim, blockIdx, threadIdx)] = rank;
}

TEST(cuda_thread_index_rank, formula_and_library_agree_on_the_device) {
  if (!gpu::device_found()) GTEST_SKIP() << "no device";
  const dim3 grid(4, 3, 2), block(5, 4, 3);  // 24 blocks of 60 threads
  gpu::DeviceArray<unsigned> ranks(24 * 60);
  ranks.poison();
  write_ranks<<<grid, block>>>(ranks.data());
  CUDA_CHECK(cudaGetLastError());
  std::vector<unsigned> expected(24 * 60);
  std::iota(expected.begin(), expected.end(), 0U);
  EXPECT_EQ(ranks.to_host(), expected);
}

/// Runs the program with these three numbers; every element has to be visited once.
void expect_all_visited(unsigned width, unsigned height, unsigned depth) {
  const auto result =
      run("cuda_thread_index",
          {"--width", std::to_string(width), "--height", std::to_string(height), "--depth", std::to_string(depth)},
          {.environment = {{"COOKBOOK_GUARD", "1"}}});  // nothing is written behind the elements
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 0) << result.text();
  const std::string row = std::to_string(width), picture = std::to_string(width * height),
                    box = std::to_string(width * height * depth);
  EXPECT_TRUE(result.has_line("ok    elements of a row visited once: " + row)) << result.text();
  EXPECT_TRUE(result.has_line("ok    elements of a picture visited once: " + picture)) << result.text();
  EXPECT_TRUE(result.has_line("ok    elements of a box visited once: " + box)) << result.text();
  EXPECT_TRUE(result.has_line("ok    elements of a box visited once, by 4 blocks in strides: " + box)) << result.text();
}

TEST(cuda_thread_index, the_grid_has_no_block_too_many) {
  for (const unsigned size : {1U, 15U, 16U, 17U, 32U, 33U}) {
    const unsigned blocks = size <= 16 ? 1 : size <= 32 ? 2 : 3;
    const dim3 row = grid_for(dim3(16), size), column = grid_for(dim3(4, 16), 8, size),
               pile = grid_for(dim3(4, 2, 16), 8, 2, size);
    EXPECT_EQ(row.x, blocks);
    EXPECT_EQ(column.x, 2U);
    EXPECT_EQ(column.y, blocks);
    EXPECT_EQ(pile.y, 1U);
    EXPECT_EQ(pile.z, blocks);
  }
}

TEST(cuda_thread_index, every_element_is_visited_once_by_default) { expect_all_visited(1000, 30, 5); }

TEST(cuda_thread_index, fewer_elements_than_threads_of_a_block) { expect_all_visited(1, 1, 1); }

TEST(cuda_thread_index, exactly_whole_blocks) { expect_all_visited(256, 16, 4); }

TEST(cuda_thread_index, one_less_than_whole_blocks) { expect_all_visited(255, 15, 3); }

TEST(cuda_thread_index, one_more_than_whole_blocks) { expect_all_visited(257, 17, 5); }

TEST(cuda_thread_index, a_high_picture_and_a_wide_one) {
  expect_all_visited(3, 1000, 2);
  if (!IsSkipped()) expect_all_visited(10'000, 2, 10);
}

TEST(cuda_thread_index, prints_block_and_thread_of_each_element) {
  const auto result = run("cuda_thread_index");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const std::vector<std::string> expected = {
      "row of 10, blocks of 4 threads",    "  0.0 0.1 0.2 0.3 1.0 1.1 1.2 1.3 2.0 2.1",
      "row of 10, 2 blocks in strides",    "  0.0 0.1 0.2 0.3 1.0 1.1 1.2 1.3 0.0 0.1",
      "picture of 7 x 3, blocks of 4 x 2", "  0.0 0.1 0.2 0.3 1.0 1.1 1.2",
      "  0.4 0.5 0.6 0.7 1.4 1.5 1.6",     "  2.0 2.1 2.2 2.3 3.0 3.1 3.2"};
  ASSERT_GE(result.out.size(), expected.size()) << result.text();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), result.out.begin())) << result.text();
}

TEST(cuda_thread_index, a_grid_may_have_65535_blocks_in_y_and_in_z_and_more_in_x) {
  if (!gpu::device_found()) GTEST_SKIP() << "no device";
  const auto accepted = [](dim3 blocks) {
    const auto elements = visited(1, [&](Element* element) {
      visit_box<<<blocks, 1>>>(element, 1, 1, 1);
      cudaGetLastError();  // a refused launch shows by the element that was not visited
    });
    return visited_once(elements) == 1;
  };
  EXPECT_TRUE(accepted(dim3(65'536, 1, 1)));
  EXPECT_TRUE(accepted(dim3(1, 65'535, 1)));
  EXPECT_FALSE(accepted(dim3(1, 65'536, 1)));
  EXPECT_TRUE(accepted(dim3(1, 1, 65'535)));
  EXPECT_FALSE(accepted(dim3(1, 1, 65'536)));
}

TEST(cuda_thread_index, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_thread_index",
                          {{"--width", "301"}, {"--width", "256", "--height", "32", "--depth", "4"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"});
}

TEST(cuda_thread_index_no_block, gives_all_visits_to_the_first_block) {
  const auto result = run("cuda_thread_index_no_block");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_TRUE(result.has_line("256 elements with four visits, 744 elements without a visit")) << result.text();
}

}  // namespace

/// What steps 3 to 5 have in common: a block of 256 threads computes 128 x 256 elements of the product, each thread
/// 8 x 16 of them.
#pragma once

#include "matrix.cuh"

constexpr int tile_rows = 128, tile_columns = 256;
constexpr int tile_depth = 8;  ///< columns of A, and rows of B, that are in shared memory at a time
constexpr int tile_threads = 256;
constexpr int own_rows = 8, own_columns = 16;

/// Where a thread's elements lie in the tile. Eight warps share the tile as 2 x 4 parts of 64 x 64 elements; the
/// threads of a warp share its part as 8 x 4. A thread's elements lie apart, so that in each load the threads of a warp
/// read neighbouring numbers, which lie in different banks of shared memory. Those of thread 0 in one corner of a part:
///
///     row  step 3                              steps 4 and 5
///       0  #...#...#...#...#...#...#...#...    ####............####............
///     1-3  ................................    ####............####............
///     4-7  ................................    ................................
///       8  #...#...#...#...#...#...#...#...    ................................
struct Place {
  int warp_row, warp_column;  ///< first row and column of the warp's part
  int lane_row, lane_column;  ///< of the thread within the warp: 0 to 7 and 0 to 3
};

inline __device__ Place place_of(int thread) {
  const int warp = thread / 32, lane = thread % 32;  // lane: the thread's number in its warp
  return {warp / 4 * 64, warp % 4 * 64, lane / 4, lane % 4};
}

/// Adds 8 numbers of a column of A times 16 of a row of B to the thread's sums, one product to each of the 8 x 16:
/// 24 numbers serve 128 multiplications.
/// Unrolled, all indexes are constants: only then can the arrays be registers. The order goes down one column of sums
/// and up the next, so that two instructions in a row always share a number.
inline __device__ void add_outer_product(float (&sum)[own_rows][own_columns], const float (&a)[own_rows],
                                         const float (&b)[own_columns]) {
#pragma unroll
  for (int j = 0; j < own_columns; ++j) {
#pragma unroll
    for (int step = 0; step < own_rows; ++step) {
      const int i = j % 2 == 0 ? step : own_rows - 1 - step;
      sum[i][j] += a[i] * b[j];
    }
  }
}

/// Blocks for a product of n x n: whole tiles, into the zeros that fill up the matrices.
inline dim3 tiles_for(int n) { return dim3((n + tile_columns - 1) / tile_columns, (n + tile_rows - 1) / tile_rows); }

/// float4 is CUDA's struct of four floats. One instruction loads it; its address must be a multiple of 16.
inline __device__ float4& as_four(float* first) { return *reinterpret_cast<float4*>(first); }
inline __device__ const float4& as_four(const float* first) { return *reinterpret_cast<const float4*>(first); }

/// Step 3: each thread computes 8 x 16 elements of a block's 128 x 256. It loads 24 numbers from shared memory for 128
/// multiplications, where step 2 loads two for each one.
///
/// __launch_bounds__ promises the compiler that a block has at most so many threads, so that it may give each of them
/// more registers.
#pragma once

#include "register_tile.cuh"

__global__ void __launch_bounds__(tile_threads)
    register_block_product(const float* a, const float* b, float* c, int n, int stride) {
  // A's tile is stored with rows and columns exchanged, so that both are read along a row. A row longer by 4 puts the
  // 32 floats that a warp stores, 8 down and 4 across, into 32 different banks.
  __shared__ float a_tile[tile_depth][tile_rows + 4], b_tile[tile_depth][tile_columns];
  const int thread = threadIdx.x;
  const auto [warp_row, warp_column, lane_row, lane_column] = place_of(thread);
  a += std::size_t(blockIdx.y) * tile_rows * stride;
  b += blockIdx.x * tile_columns;
  float sum[own_rows][own_columns] = {};

  for (int k = 0; k < n; k += tile_depth) {
    // 8 neighbouring threads copy a row of A's tile, so the 256 threads copy 32 rows at a time.
    for (int row = thread / tile_depth; row < tile_rows; row += tile_threads / tile_depth) {
      a_tile[thread % tile_depth][row] = a[std::size_t(row) * stride + k + thread % tile_depth];
    }
    // All 256 threads copy a row of B's tile.
    for (int row = 0; row < tile_depth; ++row) b_tile[row][thread] = b[std::size_t(k + row) * stride + thread];
    __syncthreads();
    for (int depth = 0; depth < tile_depth; ++depth) {
      float own_a[own_rows], own_b[own_columns];
#pragma unroll
      for (int i = 0; i < own_rows; ++i) own_a[i] = a_tile[depth][warp_row + lane_row + 8 * i];
#pragma unroll
      for (int j = 0; j < own_columns; ++j) own_b[j] = b_tile[depth][warp_column + lane_column + 4 * j];
      add_outer_product(sum, own_a, own_b);
    }
    __syncthreads();
  }

  const int row = blockIdx.y * tile_rows + warp_row + lane_row;
  const int column = blockIdx.x * tile_columns + warp_column + lane_column;
#pragma unroll
  for (int i = 0; i < own_rows; ++i) {
#pragma unroll
    for (int j = 0; j < own_columns; ++j) c[std::size_t(row + 8 * i) * stride + column + 4 * j] = sum[i][j];
  }
}

inline void register_block(const Matrix& a, const Matrix& b, Matrix& c) {
  register_block_product<<<tiles_for(c.n()), tile_threads>>>(a.data(), b.data(), c.data(), c.n(), c.stride());
  CUDA_CHECK(cudaGetLastError());
}

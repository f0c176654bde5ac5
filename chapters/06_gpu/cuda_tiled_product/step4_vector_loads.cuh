/// Step 4: four floats per load. A thread's rows and columns now lie in groups of four, so that 6 instructions load 24
/// numbers from shared memory.
#pragma once

#include "register_tile.cuh"

/// Loads the thread's 8 numbers of a column of A's tile, which is stored as a row: a group of four, and another 32
/// further on (drawn in register_tile.cuh).
inline __device__ void load_own_a(float (&own)[own_rows], const float* row, const Place& at) {
  const float* first = row + at.warp_row + 4 * at.lane_row;
#pragma unroll
  for (int group = 0; group < 2; ++group) as_four(own + 4 * group) = as_four(first + 32 * group);
}

/// Loads the thread's 16 numbers of a row of B's tile: four groups of four, 16 apart.
inline __device__ void load_own_b(float (&own)[own_columns], const float* row, const Place& at) {
  const float* first = row + at.warp_column + 4 * at.lane_column;
#pragma unroll
  for (int group = 0; group < 4; ++group) as_four(own + 4 * group) = as_four(first + 16 * group);
}

/// Stores the sums, in the same groups.
inline __device__ void store_own(float* c, int stride, const float (&sum)[own_rows][own_columns], const Place& at) {
  const int row = blockIdx.y * tile_rows + at.warp_row + 4 * at.lane_row;
  const int column = blockIdx.x * tile_columns + at.warp_column + 4 * at.lane_column;
#pragma unroll
  for (int i = 0; i < own_rows; ++i) {  // rows 0 to 3 of the thread's group, then the four that lie 32 further down
    float* first = c + std::size_t(row + i / 4 * 32 + i % 4) * stride + column;
#pragma unroll
    for (int group = 0; group < 4; ++group) as_four(first + 16 * group) = as_four(&sum[i][4 * group]);
  }
}

__global__ void __launch_bounds__(tile_threads)
    vector_loads_product(const float* a, const float* b, float* c, int n, int stride) {
  __shared__ alignas(16) float a_tile[tile_depth][tile_rows + 4], b_tile[tile_depth][tile_columns];
  const int thread = threadIdx.x;
  const Place at = place_of(thread);
  // What this thread copies. The tile has 8 numbers of a row of A: two threads copy four each. It has 256 of a row of
  // B, which 64 threads copy, so all 256 threads copy rows 0 to 3 first, and then rows 4 to 7.
  const int a_row = thread / 2, a_column = thread % 2 * 4;
  const int b_row = thread / 64, b_column = thread % 64 * 4;
  a += std::size_t(blockIdx.y * tile_rows + a_row) * stride + a_column;
  b += std::size_t(b_row) * stride + blockIdx.x * tile_columns + b_column;
  float sum[own_rows][own_columns] = {};

  for (int k = 0; k < n; k += tile_depth) {
    const float4 four = as_four(a + k);
    a_tile[a_column][a_row] = four.x;
    a_tile[a_column + 1][a_row] = four.y;
    a_tile[a_column + 2][a_row] = four.z;
    a_tile[a_column + 3][a_row] = four.w;
    as_four(&b_tile[b_row][b_column]) = as_four(b + std::size_t(k) * stride);
    as_four(&b_tile[b_row + 4][b_column]) = as_four(b + std::size_t(k + 4) * stride);
    __syncthreads();
#pragma unroll
    for (int depth = 0; depth < tile_depth; ++depth) {
      float own_a[own_rows], own_b[own_columns];
      load_own_a(own_a, a_tile[depth], at);
      load_own_b(own_b, b_tile[depth], at);
      add_outer_product(sum, own_a, own_b);
    }
    __syncthreads();
  }
  store_own(c, stride, sum, at);
}

inline void vector_loads(const Matrix& a, const Matrix& b, Matrix& c) {
  vector_loads_product<<<tiles_for(c.n()), tile_threads>>>(a.data(), b.data(), c.data(), c.n(), c.stride());
  CUDA_CHECK(cudaGetLastError());
}

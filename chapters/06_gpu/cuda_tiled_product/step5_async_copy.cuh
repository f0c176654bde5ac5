/// Step 5: while the threads compute with one tile, the next one is on its way. Copies go from global to shared
/// memory without passing through registers, and no thread waits for them until it needs what they bring.
#pragma once

#include <cuda_pipeline.h>

#include "step4_vector_loads.cuh"

__global__ void __launch_bounds__(tile_threads)
    async_copy_product(const float* a, const float* b, float* c, int n, int stride) {
  // Two buffers for tiles: the threads use one while the other is filled.
  __shared__ alignas(16) float a_tile[2][tile_depth][tile_rows + 4], b_tile[2][tile_depth][tile_columns];
  const int thread = threadIdx.x;
  const Place at = place_of(thread);
  const int tiles = (n + tile_depth - 1) / tile_depth;

  // What this thread copies. A float by float, which exchanges rows and columns on the way; B in fours.
  const int a_row = thread / 8, a_column = thread % 8, b_row = thread / 64, b_column = thread % 64 * 4;
  a += std::size_t(blockIdx.y * tile_rows + a_row) * stride + a_column;
  b += std::size_t(b_row) * stride + blockIdx.x * tile_columns + b_column;
  const auto start_to_copy = [&](int tile, int buffer) {
    // After the last tile this copies the last one again, which nobody uses.
    const int k = min(tile, tiles - 1) * tile_depth;
#pragma unroll
    for (int row = 0; row < tile_rows; row += 32) {
      __pipeline_memcpy_async(&a_tile[buffer][a_column][a_row + row], a + std::size_t(row) * stride + k, sizeof(float));
    }
#pragma unroll
    for (int row = 0; row < tile_depth; row += 4) {
      __pipeline_memcpy_async(&b_tile[buffer][b_row + row][b_column], b + std::size_t(k + row) * stride,
                              sizeof(float4));
    }
    __pipeline_commit();
  };
  const auto wait_for_copies = [] {
    __pipeline_wait_prior(0);  // those that this thread has started
    __syncthreads();           // those of all others
  };

  // Two sets of registers, too: one for the even depths, one for the odd. While the arithmetic uses one, the loads fill
  // the other.
  float sum[own_rows][own_columns] = {}, own_a[2][own_rows], own_b[2][own_columns];
  const auto load = [&](int buffer, int depth) {
    load_own_b(own_b[depth % 2], b_tile[buffer][depth], at);
    load_own_a(own_a[depth % 2], a_tile[buffer][depth], at);
  };

  start_to_copy(0, 0);
  wait_for_copies();
  load(0, 0);
  // Each turn of the inner loop loads what the next turn multiplies. For example, with tile 0 in buffer 0:
  //   depth 0 to 6: load depth 1 to 7 from buffer 0; at depth 0 tile 1 sets out for buffer 1
  //   depth 7:      tile 1 has arrived, so load its depth 0 from buffer 1
  int buffer = 0;  // to load from
  for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll  // so that depth % 2 is a constant, and the two sets can be registers
    for (int depth = 0; depth < tile_depth; ++depth) {
      if (depth == tile_depth - 1) {
        // The only barrier per tile: no thread needs this tile any more, since its last numbers are in registers.
        wait_for_copies();
        buffer = 1 - buffer;
      }
      load(buffer, (depth + 1) % tile_depth);
      if (depth == 0) start_to_copy(tile + 1, 1 - buffer);
      add_outer_product(sum, own_a[depth % 2], own_b[depth % 2]);
    }
  }
  store_own(c, stride, sum, at);
}

inline void async_copy(const Matrix& a, const Matrix& b, Matrix& c) {
  async_copy_product<<<tiles_for(c.n()), tile_threads>>>(a.data(), b.data(), c.data(), c.n(), c.stride());
  CUDA_CHECK(cudaGetLastError());
}

/// Step 5: while the threads compute with one tile, the next one is on its way. Copies go from global to shared
/// memory without passing through registers, and no thread waits for them until it needs what they bring. README.md
/// shows the loop in outline.
#pragma once

#include <cuda_pipeline.h>

#include "step4_vector_loads.cuh"

/// Tiles in shared memory: one in use, one on its way. With more stages, a copy could take longer than the work on a
/// tile. `stages - 2`, below, is how many groups of copies may still be under way when the next tile is needed.
constexpr int stages = 2;

__global__ void __launch_bounds__(tile_threads)
    async_copy_product(const float* a, const float* b, float* c, int n, int stride, float scale) {
  __shared__ alignas(16) float a_tile[stages][tile_depth][tile_rows + 4], b_tile[stages][tile_depth][tile_columns];
  const int thread = threadIdx.x;
  const Place at = place_of(thread);
  const int tiles = (n + tile_depth - 1) / tile_depth;

  // A is copied float by float, which exchanges rows and columns on the way; B in fours.
  const int a_row = thread / 8, a_column = thread % 8, b_row = thread / 64, b_column = thread % 64 * 4;
  const float* a_from = a + std::size_t(blockIdx.y * tile_rows + a_row) * stride + a_column;
  const float* b_from = b + std::size_t(b_row) * stride + blockIdx.x * tile_columns + b_column;
  int fetched = 0, fetch_stage = 0;
  const auto fetch = [&] {
    // After the last tile this fetches it again, into a stage whose numbers are never used: cheaper than a branch here.
    if (fetched > 0 && fetched < tiles) {
      a_from += tile_depth;
      b_from += std::size_t(tile_depth) * stride;
    }
    ++fetched;
#pragma unroll
    for (int row = 0; row < tile_rows; row += 32) {
      __pipeline_memcpy_async(&a_tile[fetch_stage][a_column][a_row + row], a_from + std::size_t(row) * stride, 4);
    }
#pragma unroll
    for (int row = 0; row < tile_depth; row += 4) {
      __pipeline_memcpy_async(&b_tile[fetch_stage][b_row + row][b_column], b_from + std::size_t(row) * stride, 16);
    }
    __pipeline_commit();
    fetch_stage = fetch_stage == stages - 1 ? 0 : fetch_stage + 1;
  };

  // The registers are double buffered too: while the arithmetic uses one pair, the loads fill the other.
  float sum[own_rows][own_columns] = {}, own_a[2][own_rows], own_b[2][own_columns];
  int stage = 0;
  const auto load_own = [&](int depth) {
    load_own_b(own_b[depth % 2], b_tile[stage][depth], at);
    load_own_a(own_a[depth % 2], a_tile[stage][depth], at);
  };

  for (int i = 0; i < stages - 1; ++i) fetch();
  __pipeline_wait_prior(stages - 2);  // this thread's share of the first tile has arrived
  __syncthreads();                    // and that of all others
  load_own(0);
#pragma unroll 1  // keeps the loop a loop
  for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
    for (int depth = 0; depth < tile_depth; ++depth) {
      if (depth == tile_depth - 1) {
        // One barrier per tile: the next tile is complete, and no thread needs this one any more, since what is left
        // of it is in registers. The next fetch fills its stage.
        __pipeline_wait_prior(stages - 2);
        __syncthreads();
        stage = stage == stages - 1 ? 0 : stage + 1;
      }
      load_own((depth + 1) % tile_depth);
      if (depth == 0) fetch();
      add_outer_product(sum, own_a[depth % 2], own_b[depth % 2]);
    }
  }
  __pipeline_wait_prior(0);
  store_own(c, stride, sum, scale, at);
}

inline void async_copy(const Matrix& a, const Matrix& b, Matrix& c) {
  async_copy_product<<<tiles_for(c.n()), tile_threads>>>(a.data(), b.data(), c.data(), c.n(), c.stride(), 1);
  CUDA_CHECK(cudaGetLastError());
}

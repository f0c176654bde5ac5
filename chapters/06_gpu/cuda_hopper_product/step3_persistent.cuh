/// Step 3: as many blocks as the device holds, and each computes one tile after another. While its warp groups store a
/// tile, the next one's numbers are on their way. Tiles that are computed at the same time are neighbours.
#pragma once

#include <algorithm>

#include "step2_ring.cuh"

constexpr int block_rows = 2 * group_rows, block_threads = 2 * 128 + 32;
constexpr int band = 8;  ///< tiles that are counted downwards before the next column of tiles

/// The place of a tile. The matrix is cut into bands of 8 tiles; within a band one goes down the first column of tiles,
/// then down the second. So for n = 8192 the 132 tiles under way on an H200 lie in 8 rows and 17 columns of tiles, and
/// need 88 MB of A and B; counted row by row, they would lie in 5 rows and 32 columns, and need 145 MB.
struct Place {
  int row, column;  ///< in tiles
};

__device__ inline Place place_of(int tile, int rows, int columns) {
  const int first_row = tile / (band * columns) * band, tile_in_band = tile % (band * columns);
  const int height = min(band, rows - first_row);
  return {first_row + tile_in_band % height, tile_in_band / height};
}

__global__ void __launch_bounds__(block_threads, 1)
    persistent_product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c, int n) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& ring = *reinterpret_cast<Ring<block_rows>*>(memory);
  const int group = threadIdx.x / 128, rows = n / block_rows, columns = n / tile_columns;
  prepare(ring, 8);
  __syncthreads();

  int step = 0;  // counts on from tile to tile
  if (group == 2) {
    if (threadIdx.x % 32 == 0) {
      for (int tile = blockIdx.x; tile < rows * columns; tile += gridDim.x) {
        const auto [row, column] = place_of(tile, rows, columns);
        for (int k = 0; k < n; k += depth, ++step) {
          const int i = step % stages, round = step / stages;
          wait(ring.empty[i], (round + 1) % 2);
          start_copies(ring.stage[i], ring.full[i], a, b, row * block_rows, column * tile_columns, k);
        }
      }
    }
  } else {
    Sums sums;
    for (int tile = blockIdx.x; tile < rows * columns; tile += gridDim.x) {
      for (int k = 0; k < n; k += depth, ++step) {
        const int i = step % stages, round = step / stages;
        wait(ring.full[i], round % 2);
        start_products(sums, ring.stage[i].a + group * group_rows, ring.stage[i].b, k == 0);
        wait_for_products();
        if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&ring.empty[i]);
      }
      const auto [row, column] = place_of(tile, rows, columns);
      store(sums, c + std::size_t(row * block_rows + group * group_rows) * n + column * tile_columns, n);
    }
  }
}

inline void persistent(const bfloat16* a, const bfloat16* b, float* c, int n, cudaStream_t stream) {
  constexpr int bytes = sizeof(Ring<block_rows>);
  CUDA_CHECK(cudaFuncSetAttribute(persistent_product, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  int resident = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, persistent_product, block_threads, bytes));
  const int blocks = std::min(resident * gpu::multiprocessors(), n / block_rows * (n / tile_columns));
  persistent_product<<<blocks, block_threads, bytes, stream>>>(boxes_of(a, n, block_rows, 1),
                                                               boxes_of(b, n, depth, tile_columns / strip), c, n);
  CUDA_CHECK(cudaGetLastError());
}

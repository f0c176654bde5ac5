/// Step 1: Hopper's instructions, one after another. A block is one warp group and computes 64 x 256 elements.
#pragma once

#include "hopper.cuh"

__global__ void __launch_bounds__(128)
    one_tile_product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c, int n) {
  __shared__ Stage<group_rows> stage;
  __shared__ Barrier full;
  const int row = blockIdx.y * group_rows, column = blockIdx.x * tile_columns;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);  // visible to the TMA
  }
  __syncthreads();

  Sums sums;
  for (int k = 0; k < n; k += depth) {
    if (threadIdx.x == 0) start_copies(stage, full, a, b, row, column, k);
    wait(full, k / depth % 2);
    start_products(sums, stage.a, stage.b, k == 0);
    wait_for_products();
    __syncthreads();  // all warps have finished with the stage
  }
  store(sums, c + std::size_t(row) * n + column, n);
}

inline void one_tile(const bfloat16* a, const bfloat16* b, float* c, int n, cudaStream_t stream) {
  const dim3 blocks(n / tile_columns, n / group_rows);
  one_tile_product<<<blocks, 128, 0, stream>>>(boxes_of(a, n, group_rows, 1),
                                               boxes_of(b, n, depth, tile_columns / strip), c, n);
  CUDA_CHECK(cudaGetLastError());
}

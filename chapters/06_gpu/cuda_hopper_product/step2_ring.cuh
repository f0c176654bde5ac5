/// Steps 2 and 3: one warp only copies, into a ring of stages; the warp groups only multiply. With two of them a block
/// computes 128 x 256 elements, and both use the same tile of B.
#pragma once

#include "hopper.cuh"

constexpr int stages = 4;

/// The shared memory of a block. full[i] ends a phase when stage i has arrived, empty[i] when all warps have finished
/// with it.
template <int rows>
struct Ring {
  Stage<rows> stage[stages];
  Barrier full[stages], empty[stages];
};

/// Prepares the barriers. `warps`: how many report that they have finished with a stage.
template <int rows>
__device__ void prepare(Ring<rows>& ring, int warps) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) {
      ptx::mbarrier_init(&ring.full[i], 1);
      ptx::mbarrier_init(&ring.empty[i], warps);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
}

template <int groups>
__global__ void __launch_bounds__(128 * groups + 32, 1)
    ring_product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c, int n) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& ring = *reinterpret_cast<Ring<groups * group_rows>*>(memory);
  const int group = threadIdx.x / 128, row = blockIdx.y * groups * group_rows, column = blockIdx.x * tile_columns;
  prepare(ring, 4 * groups);
  __syncthreads();

  if (group == groups) {  // the last warp
    if (threadIdx.x % 32 == 0) {
      for (int step = 0; step < n / depth; ++step) {
        const int i = step % stages, round = step / stages;
        wait(ring.empty[i], (round + 1) % 2);  // of the round before
        start_copies(ring.stage[i], ring.full[i], a, b, row, column, step * depth);
      }
    }
  } else {
    Sums sums;
    for (int step = 0; step < n / depth; ++step) {
      const int i = step % stages, round = step / stages;
      wait(ring.full[i], round % 2);
      start_products(sums, ring.stage[i].a + group * group_rows, ring.stage[i].b, step == 0);
      wait_for_products();
      if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&ring.empty[i]);
    }
    store(sums, c + std::size_t(row + group * group_rows) * n + column, n);
  }
}

template <int groups>
void ring(const bfloat16* a, const bfloat16* b, float* c, int n, cudaStream_t stream) {
  constexpr int rows = groups * group_rows, bytes = sizeof(Ring<rows>);
  // More than 48 KiB have to be asked for.
  CUDA_CHECK(cudaFuncSetAttribute(ring_product<groups>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 blocks(n / tile_columns, n / rows);
  ring_product<groups><<<blocks, 128 * groups + 32, bytes, stream>>>(boxes_of(a, n, rows, 1),
                                                                     boxes_of(b, n, depth, tile_columns / strip), c, n);
  CUDA_CHECK(cudaGetLastError());
}

/// The limit: what the tensor cores can do if nothing has to be copied.
#pragma once

#include "step2_ring.cuh"

/// Two warp groups per multiprocessor multiply, always the same tiles. These hold random numbers, since the power that
/// the tensor cores take, and so the clock, depends on the numbers.
__global__ void __launch_bounds__(256, 1) products_alone(const bfloat16* numbers, int tiles, float* never) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& stage = *reinterpret_cast<Stage<2 * group_rows>*>(memory);
  bfloat16* const to = &stage.a[0][0];
  for (unsigned i = threadIdx.x; i < sizeof(stage) / sizeof(bfloat16); i += blockDim.x) to[i] = numbers[i];
  ptx::fence_proxy_async(ptx::space_shared);  // the tensor cores see what the threads have stored
  __syncthreads();
  Sums sums;
  for (int tile = 0; tile < tiles; ++tile) {
    start_products(sums, stage.a + threadIdx.x / 128 * group_rows, stage.b, tile == 0);
    wait_for_products<1>();
  }
  wait_for_products();
  float all = 0;
  for (const float sum : sums) all += sum;
  if (all == 1e30F) *never = all;  // is never true, but the compiler does not know that
}

/// Queues it and returns its number of floating-point operations. `numbers` has 24,576 numbers or more.
inline double start_products_alone(const bfloat16* numbers, float* never) {
  constexpr int bytes = sizeof(Stage<2 * group_rows>), tiles = 4096;
  CUDA_CHECK(cudaFuncSetAttribute(products_alone, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const int blocks = gpu::multiprocessors();
  products_alone<<<blocks, 256, bytes>>>(numbers, tiles, never);
  CUDA_CHECK(cudaGetLastError());
  return 2.0 * (2 * group_rows) * tile_columns * depth * tiles * blocks;
}

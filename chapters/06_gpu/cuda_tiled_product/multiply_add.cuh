/// What the product is measured against: the device's arithmetic.
#pragma once

#include "cookbook/cuda.hpp"

/// Rounds of fma_loop(), multiplications and additions of each, and threads of a block.
constexpr int fma_rounds = 4'000, fma_round = 128, fma_threads = 256;

/// Nothing but fused multiplications and additions: 16 independent sums per thread, so that none waits for another.
__global__ void fma_loop(float x, float y, float* never) {
  float sum[16];
  for (int i = 0; i < 16; ++i) sum[i] = static_cast<float>(threadIdx.x + i);
#pragma unroll 1
  for (int round = 0; round < fma_rounds; ++round) {
#pragma unroll
    for (int step = 0; step < fma_round; ++step) sum[step % 16] = sum[step % 16] * x + y;
  }
  float all = 0;
  for (int i = 0; i < 16; ++i) all += sum[i];
  if (all == 1e30F) *never = all;  // is never true, but the compiler does not know that
}

/// Starts fma_loop() on the whole device and returns its number of floating-point operations.
inline double start_fma_loop(float* never) {
  const int blocks = 8 * gpu::multiprocessors();
  fma_loop<<<blocks, fma_threads>>>(0.999F, 0.001F, never);
  CUDA_CHECK(cudaGetLastError());
  return 2.0 * fma_rounds * fma_round * fma_threads * blocks;
}

/// Random points in a square, made and used inside a kernel.
#pragma once

#include <curand_kernel.h>

#include "cookbook/cuda.hpp"

/// Counts the points that lie within a quarter of a circle with radius 1. Point i is made of the numbers 2i and 2i + 1
/// of the sequence, whichever thread makes it; so the result depends on nothing but the seed and the number of points.
__global__ void count_hits(unsigned seed, int points, unsigned long long* hits) {
  unsigned long long mine = 0;
  const int all_threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < points; i += all_threads) {
    curandStatePhilox4_32_10_t state;
    curand_init(seed, 0, 2ULL * i, &state);  // at number 2i of sequence 0
    const float x = curand_uniform(&state), y = curand_uniform(&state);
    mine += x * x + y * y <= 1;
  }
  atomicAdd(hits, mine);
}

/// The number of hits among `points` points. Pi is about four times their share.
inline long darts_in_circle(unsigned seed, int points, int blocks) {
  gpu::DeviceArray<unsigned long long> hits(1);
  hits.zero();
  count_hits<<<blocks, 256>>>(seed, points, hits.data());
  CUDA_CHECK(cudaGetLastError());
  return static_cast<long>(hits.to_host().front());
}

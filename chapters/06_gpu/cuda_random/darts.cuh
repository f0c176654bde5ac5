/// Random points in a square, and how many of them lie within a quarter of a circle with radius 1: pi is about four
/// times their share. Two points are made of four numbers.
#pragma once

#include <curand_kernel.h>

#include "cookbook/cuda.hpp"

__device__ inline unsigned hits_of(float4 u) { return (u.x * u.x + u.y * u.y <= 1) + (u.z * u.z + u.w * u.w <= 1); }
__device__ inline void add_to(unsigned long long* hits, unsigned mine);
__device__ inline unsigned hits_from(curandStateXORWOW_t& state, int fours);

/// Philox: group i of four numbers begins at number 4i of the seed's sequence, whichever thread makes it. So the hits
/// depend on nothing but the seed and the number of points.
__global__ void use_philox(unsigned seed, int fours, unsigned long long* hits) {
  unsigned mine = 0;
  const int all_threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < fours; i += all_threads) {
    curandStatePhilox4_32_10_t state;
    curand_init(seed, 0, 4ULL * i, &state);  // at number 4i of sequence 0
    mine += hits_of(curand_uniform4(&state));
  }
  add_to(hits, mine);
}

/// Each thread sets up a generator for a sequence of its own.
__global__ void use_xorwow(unsigned seed, int fours, unsigned long long* hits) {
  const int me = blockIdx.x * blockDim.x + threadIdx.x;
  curandStateXORWOW_t state;
  curand_init(seed, me, 0, &state);  // at number 0 of sequence `me`
  add_to(hits, hits_from(state, fours));
}

/// The same in two kernels: this one sets up the generators, and runs once. The grid must be that of the other one.
__global__ void set_up_xorwow(unsigned seed, curandStateXORWOW_t* states) {
  const int me = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(seed, me, 0, &states[me]);
}

/// This one may run often: each thread goes on where it was.
__global__ void use_kept_xorwow(curandStateXORWOW_t* states, int fours, unsigned long long* hits) {
  const int me = blockIdx.x * blockDim.x + threadIdx.x;
  curandStateXORWOW_t state = states[me];
  add_to(hits, hits_from(state, fours));
  states[me] = state;
}

/// XORWOW: how many of this thread's points are hits, if it makes one number after another from `state`, which is then
/// the one that its next number would be made of.
__device__ inline unsigned hits_from(curandStateXORWOW_t& state, int fours) {
  unsigned mine = 0;
  const int all_threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < fours; i += all_threads) {
    const float x = curand_uniform(&state), y = curand_uniform(&state);
    const float z = curand_uniform(&state), w = curand_uniform(&state);
    mine += hits_of(make_float4(x, y, z, w));
  }
  return mine;
}

/// The numbers have been stored in memory.
__global__ void use_stored(const float4* numbers, int fours, unsigned long long* hits) {
  unsigned mine = 0;
  const int all_threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < fours; i += all_threads) mine += hits_of(numbers[i]);
  add_to(hits, mine);
}

/// Adds up over a warp, all of whose threads call this, and then adds to the result: one atomic addition per 32
/// threads.
__device__ inline void add_to(unsigned long long* hits, unsigned mine) {
  for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_xor_sync(0xFFFFFFFF, mine, distance);
  if (threadIdx.x % 32 == 0) atomicAdd(hits, static_cast<unsigned long long>(mine));
}

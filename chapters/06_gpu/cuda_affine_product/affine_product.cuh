/// A formula of two numbers, and a kernel that applies it to two arrays, in place.
#pragma once

#include <cstddef>

#include "cookbook/cuda.hpp"

/// Compiled for the host and for the device.
__host__ __device__ inline float affine_product(float a, float b) { return (a * 10 + 2) * ((b + 2) * 10 - 5) * 5; }

/// Overwrites each a[i] by affine_product(a[i], b[i]). Thread i alone touches a[i], so it reads the old value.
__global__ void change(float* a, const float* b, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) a[i] = affine_product(a[i], b[i]);
}

/// Starts the kernel on arrays of the device.
inline void start_change(float* a, const float* b, std::size_t count) {
  const unsigned threads = 256, blocks = static_cast<unsigned>((count + threads - 1) / threads);
  change<<<blocks, threads>>>(a, b, count);
  CUDA_CHECK(cudaGetLastError());
}

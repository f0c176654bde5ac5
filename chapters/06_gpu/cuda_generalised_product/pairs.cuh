/// The kernel that multiplies a batch of pairs, and numbers to multiply.
#pragma once

#include "batch.hpp"
#include "cookbook/cuda.hpp"

/// One thread per pair runs the function that the host runs in a loop.
__global__ void multiply_pairs(Batch<const long long> a, Batch<const long long> b, Batch<long long> c) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < c.count) multiply(a[i], b[i], c[i]);
}

/// Random integers from 0 to 9, the same ones for the same seed.
inline Numbers random_numbers(const Shape& shape, unsigned seed) {
  Numbers numbers{shape, std::vector<long long>(elements(shape))};
  unsigned index = 0;  // random_number() is from -1 to 1
  for (long long& value : numbers.values) value = static_cast<long long>((gpu::random_number(seed, index++) + 1.0) * 5);
  return numbers;
}

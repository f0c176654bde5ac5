/// Step 1: one thread per element of the product.
#pragma once

#include "matrix.cuh"

/// Row times column. For each multiplication two numbers are loaded from global memory, each of them n times in all.
__global__ void naive_product(const float* a, const float* b, float* c, int n, int stride) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[std::size_t(row) * stride + k] * b[std::size_t(k) * stride + column];
  c[std::size_t(row) * stride + column] = sum;
}

/// The threads of a warp lie along a row, so that they load neighbours of B and store neighbours of C.
inline void naive(const Matrix& a, const Matrix& b, Matrix& c) {
  const dim3 block(32, 8), grid((c.n() + 31) / 32, (c.n() + 7) / 8);
  naive_product<<<grid, block>>>(a.data(), b.data(), c.data(), c.n(), c.stride());
  CUDA_CHECK(cudaGetLastError());
}

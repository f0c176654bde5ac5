/// Step 2: the threads of a block load a tile of A and a tile of B once, and all use both from shared memory.
#pragma once

#include "matrix.cuh"

/// Each element is loaded n / side times from global memory instead of n times: with tiles of 32 x 32, 128 times for
/// n = 4096. Where a tile reaches beyond the matrices it is filled up with zeros, which add nothing to a sum.
template <int side>
__global__ void shared_tile_product(const float* a, const float* b, float* c, int n, int stride) {
  __shared__ float a_tile[side][side], b_tile[side][side];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * side + x, row = blockIdx.y * side + y;
  float sum = 0;
  for (int k = 0; k < n; k += side) {
    a_tile[y][x] = row < n && k + x < n ? a[std::size_t(row) * stride + k + x] : 0;
    b_tile[y][x] = k + y < n && column < n ? b[std::size_t(k + y) * stride + column] : 0;
    __syncthreads();  // both tiles are complete before a thread uses them
    for (int j = 0; j < side; ++j) sum += a_tile[y][j] * b_tile[j][x];
    __syncthreads();  // all threads have used them before one overwrites them
  }
  if (row < n && column < n) c[std::size_t(row) * stride + column] = sum;
}

template <int side>
void shared_tile(const Matrix& a, const Matrix& b, Matrix& c) {
  const unsigned blocks = (c.n() + side - 1) / side;
  shared_tile_product<side>
      <<<dim3(blocks, blocks), dim3(side, side)>>>(a.data(), b.data(), c.data(), c.n(), c.stride());
  CUDA_CHECK(cudaGetLastError());
}

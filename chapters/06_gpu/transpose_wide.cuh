/// The tiled transposition for large matrices, four floats per load and per store, and a copy to compare it with.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

constexpr int wide_side = 64;      ///< of the tile; the matrix's rows and columns must be multiples of it
constexpr int wide_threads = 256;  ///< of a block: 16 x 16, each moves four times four floats

/// `rows` and `columns` are those of `in`. Each thread has four loads of 16 bytes under way before it stores any.
/// __ldcs() and __stcs() say that an element is read or written once, and need not stay in the cache.
/// __launch_bounds__ promises the compiler that a block has no more threads.
__global__ void __launch_bounds__(wide_threads) transpose_wide(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[wide_side][wide_side + 1];
  const int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16;
  const float* from = in + std::size_t(blockIdx.y * wide_side + y) * columns + blockIdx.x * wide_side + x;
  float4 four[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) four[i] = __ldcs(reinterpret_cast<const float4*>(from + std::size_t(16 * i) * columns));
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float* row = tile[y + 16 * i] + x;
    row[0] = four[i].x;
    row[1] = four[i].y;
    row[2] = four[i].z;
    row[3] = four[i].w;
  }
  __syncthreads();
  float* to = out + std::size_t(blockIdx.x * wide_side + y) * rows + blockIdx.y * wide_side + x;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int column = y + 16 * i;
    const float4 values = {tile[x][column], tile[x + 1][column], tile[x + 2][column], tile[x + 3][column]};
    __stcs(reinterpret_cast<float4*>(to + std::size_t(16 * i) * rows), values);
  }
}

/// Four times four floats per thread, as transpose_wide(), but each to where it came from. One block per 4096 floats.
__global__ void __launch_bounds__(wide_threads) copy_wide(const float4* in, float4* out) {
  const std::size_t first = std::size_t(blockIdx.x) * 4 * wide_threads + threadIdx.x;
  float4 four[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) four[i] = __ldcs(in + first + i * wide_threads);
#pragma unroll
  for (int i = 0; i < 4; ++i) __stcs(out + first + i * wide_threads, four[i]);
}

/// The dot product of two vectors of floats nearly as fast as long ones can be read, in one launch, with the same bits
/// on every run. Its means, warp shuffles and an atomic counter, are explained in cuda_reduction.
#pragma once

#include <cstddef>

#include "grid_sum.cuh"

namespace detail {

constexpr int threads = grid_sum::threads;
constexpr int in_flight = 2;  ///< loads of 16 bytes from each vector that a thread starts before it uses the first

__device__ inline float dot_of_four(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

__global__ void __launch_bounds__(threads, grid_sum::blocks_per_multiprocessor)
    dot(const float* x, const float* y, std::size_t count, grid_sum::Memory memory) {
  const unsigned place = grid_sum::place_in_order(memory);
  const auto* x4 = reinterpret_cast<const float4*>(x);
  const auto* y4 = reinterpret_cast<const float4*>(y);
  const unsigned fours = static_cast<unsigned>(count / 4), stride = gridDim.x * threads * in_flight;
  unsigned i = blockIdx.x * threads * in_flight + threadIdx.x;
  float mine = 0;
  for (; i + (in_flight - 1) * threads < fours; i += stride) {
    float4 a[in_flight], b[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      a[u] = __ldcs(x4 + i + u * threads);  // cs: these are read once, so the cache need not keep them
      b[u] = __ldcs(y4 + i + u * threads);
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) mine += dot_of_four(a[u], b[u]);
  }
  for (; i < fours; i += threads) mine += dot_of_four(x4[i], y4[i]);  // an incomplete turn, of one block at most
  const std::size_t rest = std::size_t{fours} * 4 + threadIdx.x;      // up to three elements after the last four
  if (blockIdx.x == 0 && rest < count) mine += x[rest] * y[rest];
  grid_sum::add_up(mine, place, memory);
}

}  // namespace detail

/// Memory that is used again for one dot product after another.
class FastDot {
 public:
  /// Queues the dot product of the first `count` elements, at most 2^33, of two vectors, each on a 16-byte boundary.
  void start(const float* x, const float* y, std::size_t count, cudaStream_t stream) {
    const unsigned blocks = sum_.blocks_for(count, detail::threads * detail::in_flight * 4);
    detail::dot<<<blocks, detail::threads, 0, stream>>>(x, y, count, sum_.memory());
    CUDA_CHECK(cudaGetLastError());
  }

  gpu::DeviceArray<float>& result() { return sum_.result(); }

 private:
  grid_sum::Sum sum_{detail::dot};
};

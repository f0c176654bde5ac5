/// The dot product of two vectors of floats as fast as the memory delivers them, in one launch, with the same bits on
/// every run. Its means, warp shuffles and an atomic counter, are explained in cuda_reduction.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cuda/atomic>

#include "cuda_memory.hpp"

namespace detail {

constexpr int threads = 512;  ///< threads per block
constexpr int in_flight = 2;  ///< loads of 16 bytes from each vector that a thread starts before it uses the first
constexpr unsigned warps = threads / 32;

/// The sum over the block's threads, in thread 0: within each warp by shuffles, then over the warps.
__device__ inline float block_sum(float value) {
  __shared__ float of_warp[warps];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xFFFFFFFF, value, distance);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < warps ? of_warp[lane] : 0;
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xFFFFFFFF, value, distance);
  }
  __syncthreads();  // of_warp may be used again
  return value;
}

__device__ inline float dot_of_four(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

/// `of_block` has room for one value per block; `finished` counts blocks, and is 0 before and after.
__global__ void __launch_bounds__(threads, 4)
    dot(const float* x, const float* y, std::size_t count, float* of_block, unsigned* finished, float* result) {
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

  // The block that finishes last adds up what all blocks have left, in the order of their numbers.
  mine = block_sum(mine);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    of_block[blockIdx.x] = mine;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> count_of_finished(*finished);
    last = count_of_finished.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  mine = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += threads) mine += of_block[block];
  mine = block_sum(mine);
  if (threadIdx.x == 0) {
    *result = mine;
    *finished = 0;
  }
}

}  // namespace detail

/// Memory that is used again for one dot product after another.
class FastDot {
 public:
  FastDot() : of_block_(most_blocks), result_(1), finished_(1) { finished_.zero(); }

  /// Queues the dot product of the first `count` elements, at most 2^33, of two vectors, each on a 16-byte boundary.
  void start(const float* x, const float* y, std::size_t count, cudaStream_t stream) {
    constexpr std::size_t per_block = detail::threads * detail::in_flight * 4;
    const std::size_t blocks = std::clamp<std::size_t>((count + per_block - 1) / per_block, 1, most_blocks);
    detail::dot<<<static_cast<unsigned>(blocks), detail::threads, 0, stream>>>(x, y, count, of_block_.data(),
                                                                               finished_.data(), result_.data());
    CUDA_CHECK(cudaGetLastError());
  }

  gpu::DeviceArray<float>& result() { return result_; }

 private:
  /// Four blocks for each of the 132 multiprocessors of an H200. A constant, so that the order of the additions, and
  /// with it the last bit, is the same on every device.
  static constexpr std::size_t most_blocks = 528;

  gpu::DeviceArray<float> of_block_, result_;
  gpu::DeviceArray<unsigned> finished_;
};

/// The sum of floats as fast as the memory delivers them, in one launch, with the same bits on every run.
#pragma once

#include <algorithm>
#include <cstddef>

#include "reduce.cuh"

struct Add {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

namespace detail {

__device__ inline float sum_of_four(float4 four) { return (four.x + four.y) + (four.z + four.w); }

/// `of_block` has room for one value per block; `finished` counts blocks, and is 0 before and after. The launch bounds
/// limit a thread to 32 registers, so that a multiprocessor has room for 2048 threads.
__global__ void __launch_bounds__(1024, 2)
    sum(const float* values, std::size_t count, float* of_block, unsigned* finished, float* result) {
  constexpr int in_flight = 4;  // loads of 16 bytes that a thread starts before it uses the first
  const auto* fours = reinterpret_cast<const float4*>(values);
  const std::size_t whole = count / 4, stride = std::size_t{gridDim.x} * blockDim.x * in_flight;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x * in_flight + threadIdx.x;
  float mine = 0;
  for (; i + (in_flight - 1) * blockDim.x < whole; i += stride) {
    float4 four[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u)
      four[u] = __ldcs(fours + i + u * blockDim.x);  // cs: read once, need not be kept
#pragma unroll
    for (int u = 0; u < in_flight; ++u) mine += sum_of_four(four[u]);
  }
  for (; i < whole; i += blockDim.x)
    mine += sum_of_four(__ldcs(fours + i));          // an incomplete turn, of one block at most
  const std::size_t rest = whole * 4 + threadIdx.x;  // up to three values after the last four
  if (blockIdx.x == 0 && rest < count) mine += values[rest];

  mine = reduce_block(mine, Add{}, 0.0F);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    of_block[blockIdx.x] = mine;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> count_of_finished(*finished);
    last = count_of_finished.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  mine = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) mine += of_block[block];
  mine = reduce_block(mine, Add{}, 0.0F);
  if (threadIdx.x == 0) {
    *result = mine;
    *finished = 0;
  }
}

}  // namespace detail

/// Memory that is used again for one sum after another.
class FastSum {
 public:
  FastSum() : of_block_(most_blocks), result_(1), finished_(1) { finished_.zero(); }

  /// Queues the sum of `count` values, the first of which lies on a 16-byte boundary.
  void start(const float* values, std::size_t count, cudaStream_t stream) {
    constexpr std::size_t threads = 512, per_block = threads * 16;
    const std::size_t blocks = std::clamp<std::size_t>((count + per_block - 1) / per_block, 1, most_blocks);
    detail::sum<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(values, count, of_block_.data(),
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

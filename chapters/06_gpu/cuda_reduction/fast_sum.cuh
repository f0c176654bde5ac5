/// The sum of floats as fast as the memory delivers them, in one launch, with the same bits on every run.
#pragma once

#include <cstddef>

#include "grid_sum.cuh"

namespace detail {

__device__ inline float sum_of_four(float4 four) { return (four.x + four.y) + (four.z + four.w); }

__global__ void __launch_bounds__(grid_sum::threads, grid_sum::blocks_per_multiprocessor)
    sum(const float* values, std::size_t count, grid_sum::Memory memory) {
  const unsigned place = grid_sum::place_in_order(memory);
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
  grid_sum::add_up(mine, place, memory);
}

}  // namespace detail

/// Memory that is used again for one sum after another.
class FastSum {
 public:
  /// Queues the sum of `count` values, the first of which lies on a 16-byte boundary.
  void start(const float* values, std::size_t count, cudaStream_t stream) {
    detail::sum<<<sum_.blocks_for(count, grid_sum::threads * 16), grid_sum::threads, 0, stream>>>(values, count,
                                                                                                  sum_.memory());
    CUDA_CHECK(cudaGetLastError());
  }

  gpu::DeviceArray<float>& result() { return sum_.result(); }

 private:
  grid_sum::Sum sum_{detail::sum};
};

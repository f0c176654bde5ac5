/// A job of many short kernels, each of which needs the results of the one before.
#pragma once

#include <cstdint>

#include "cookbook/cuda.hpp"

/// Step number `step` with each of the numbers. The steps give another result in another order.
__global__ void take_step(std::uint32_t* numbers, int count, std::uint32_t step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = numbers[i] * 1664525 + step;
}

/// Puts the steps 1 to `kernels` into the stream, one launch per step.
inline void queue_steps(cudaStream_t stream, std::uint32_t* numbers, int count, int kernels) {
  for (int step = 1; step <= kernels; ++step) {
    take_step<<<(count + 255) / 256, 256, 0, stream>>>(numbers, count, step);
    CUDA_CHECK(cudaGetLastError());
  }
}

/// What so many steps make of a number. Steps x -> x * 1664525 + step, one after another, are together x -> x * a + c.
/// So the host checks a result with one multiplication.
struct AllSteps {
  explicit AllSteps(int kernels) {
    for (int step = 1; step <= kernels; ++step) a *= 1664525, c = c * 1664525 + step;
  }
  std::uint32_t of(std::uint32_t number) const { return number * a + c; }
  std::uint32_t a = 1, c = 0;
};

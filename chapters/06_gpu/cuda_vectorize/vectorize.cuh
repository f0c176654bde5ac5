/// A function of two numbers becomes a function of two arrays, which runs on the processor's cores or on the GPU.
#pragma once

#include <algorithm>
#include <execution>
#include <stdexcept>
#include <vector>

#include "cookbook/cuda.hpp"

/// result[i] = function(a[i], b[i]), one thread per element.
template <typename Function>
__global__ void apply(Function function, const float* a, const float* b, float* result, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) result[i] = function(a[i], b[i]);
}

/// The same for arrays on the host, with copies there and back; up to 2^31 - 1 elements.
template <typename Function>
void apply_on_gpu(Function function, const std::vector<float>& a, const std::vector<float>& b,
                  std::vector<float>& result) {
  if (a.empty()) return;  // a launch without blocks is an error
  const gpu::DeviceArray<float> device_a(a), device_b(b);
  gpu::DeviceArray<float> device_result(a.size());
  const int count = static_cast<int>(a.size());
  apply<<<(count + 255) / 256, 256>>>(function, device_a.data(), device_b.data(), device_result.data(), count);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(result.data(), device_result.data(), count * sizeof(float), cudaMemcpyDeviceToHost));
}

/// The same on the processor, by all cores.
template <typename Function>
void apply_on_cpu(Function function, const std::vector<float>& a, const std::vector<float>& b,
                  std::vector<float>& result) {
  std::transform(std::execution::par_unseq, a.begin(), a.end(), b.begin(), result.begin(), function);
}

enum class Target { cpu, gpu };

/// Returns a function that takes two vectors of the same length and returns a third one. It throws
/// std::invalid_argument if the lengths differ.
template <typename Function>
auto vectorize(Function function, Target target) {
  return [=](const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) throw std::invalid_argument("the vectors have different lengths");
    std::vector<float> result(a.size());
    if (target == Target::gpu) {
      apply_on_gpu(function, a, b, result);
    } else {
      apply_on_cpu(function, a, b, result);
    }
    return result;
  };
}

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

/// The same for arrays on the host. They go through the device's memory in pieces of `chunk` elements, so that arrays
/// which are larger than that memory can be used, too.
template <typename Function>
void apply_on_gpu(Function function, const std::vector<float>& a, const std::vector<float>& b,
                  std::vector<float>& result, std::size_t chunk) {
  chunk = std::min(chunk, a.size());
  gpu::DeviceArray<float> device_a(chunk), device_b(chunk), device_result(chunk);
  for (std::size_t done = 0; done < a.size(); done += chunk) {
    const int count = static_cast<int>(std::min(chunk, a.size() - done));
    const std::size_t bytes = count * sizeof(float);
    CUDA_CHECK(cudaMemcpy(device_a.data(), a.data() + done, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(device_b.data(), b.data() + done, bytes, cudaMemcpyHostToDevice));
    apply<<<(count + 255) / 256, 256>>>(function, device_a.data(), device_b.data(), device_result.data(), count);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(result.data() + done, device_result.data(), bytes, cudaMemcpyDeviceToHost));
  }
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
auto vectorize(Function function, Target target, std::size_t chunk = std::size_t{1} << 26) {
  return [=](const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) throw std::invalid_argument("the vectors have different lengths");
    std::vector<float> result(a.size());
    if (target == Target::gpu) {
      apply_on_gpu(function, a, b, result, chunk);
    } else {
      apply_on_cpu(function, a, b, result);
    }
    return result;
  };
}

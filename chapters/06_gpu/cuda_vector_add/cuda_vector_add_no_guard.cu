// Vector addition without the guard
//
// The kernel of cuda_vector_add.cu without `if (i < count)`: the threads of the last block that have no element write
// all the same, behind the end. Nothing tells: no call returns an error, and all sums are right. What was overwritten
// here is a second vector that happens to lie behind the first.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_vector_add/cuda_vector_add_no_guard.cu common/cookbook/*.cpp -lfmt -o cuda_vector_add_no_guard
// Run:     cuda_vector_add_no_guard
// Symptom: exit 1, prints "24 of them were overwritten"

#include <algorithm>
#include <vector>

#include "cuda_check.hpp"
#include "cuda_memory.hpp"

namespace {

__global__ void add(const float* a, const float* b, float* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  sum[i] = a[i] + b[i];
}

}  // namespace

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  constexpr int count = 1000, block = 256, blocks = (count + block - 1) / block, behind = 100;
  // The inputs are long enough for all 1024 threads; the output's 1000 elements are followed by a hundred sevens.
  const gpu::DeviceArray<float> a(std::vector<float>(blocks * block, 1)), b(std::vector<float>(blocks * block, 2));
  gpu::DeviceArray<float> sum(std::vector<float>(count + behind, 7));
  add<<<blocks, block>>>(a.data(), b.data(), sum.data());
  CUDA_CHECK(cudaGetLastError());

  const std::vector<float> result = sum.to_host();
  cookbook::println("right sums: {} of {}", std::count(result.begin(), result.begin() + count, 3.0F), count);
  const auto lost = behind - std::count(result.begin() + count, result.end(), 7.0F);
  cookbook::println("behind them were {} sevens, {} of them were overwritten", behind, lost);
  return lost == 0 ? 0 : 1;
}

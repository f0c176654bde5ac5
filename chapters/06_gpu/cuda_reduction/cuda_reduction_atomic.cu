// Reduction by atomic additions
//
// Each block adds its sum to one float by atomicAdd. No addition is lost, but the blocks add in the order in which they
// happen to finish, and the rounding of floats depends on the order: the last bits differ from run to run, and with
// them whatever is computed from the sum.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_reduction/cuda_reduction_atomic.cu common/cookbook/*.cpp -lfmt -o cuda_reduction_atomic
// Run:     cuda_reduction_atomic
// Symptom: exit 1, prints "the sum depends on the run"

#include <set>

#include "cuda_check.hpp"
#include "cuda_memory.hpp"
#include "reduce.cuh"

namespace {

__global__ void fill(float* numbers, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] = gpu::random_number(4, i);
}

__global__ void add_all(const float* values, int count, float* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float of_block = detail::reduce_block(i < count ? values[i] : 0, Sum{});
  if (threadIdx.x == 0) atomicAdd(sum, of_block);
}

}  // namespace

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  constexpr int count = 1 << 24, block = 256, blocks = (count + block - 1) / block, runs = 20;
  gpu::DeviceArray<float> values(count), sum(1);
  fill<<<blocks, block>>>(values.data(), count);
  CUDA_CHECK(cudaGetLastError());

  std::set<float> results;
  for (int run = 0; run < runs; ++run) {
    sum.zero();
    add_all<<<blocks, block>>>(values.data(), count, sum.data());
    CUDA_CHECK(cudaGetLastError());
    results.insert(sum.to_host().front());
  }
  cookbook::println("{} runs, {} different sums, from {} to {}", runs, results.size(), *results.begin(),
                    *results.rbegin());
  if (results.size() == 1) return 0;
  cookbook::println("the sum depends on the run");
  return 1;
}

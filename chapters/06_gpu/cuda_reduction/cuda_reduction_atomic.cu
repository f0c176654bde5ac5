// Pitfall: a sum of floats by atomic additions
//
// Each block adds its sum to the result by atomicAdd. No addition is lost. But the blocks finish in any order, and
// floats are rounded at each addition, so the last bits of the sum change from run to run.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_reduction/cuda_reduction_atomic.cu common/cookbook/*.cpp -lfmt -o cuda_reduction_atomic
// Run:     cuda_reduction_atomic
// Symptom: exit 1, prints "the sum depends on the run"

#include <set>

#include "reduce.cuh"

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

__global__ void fill(float* numbers) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  numbers[i] = gpu::random_number(4, i);
}

__global__ void add_all(const float* values, float* sum) {
  const float of_block = reduce_block(values[blockIdx.x * blockDim.x + threadIdx.x], Sum{}, 0.0F);
  if (threadIdx.x == 0) atomicAdd(sum, of_block);  // wrong for floats: the blocks come in any order
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  constexpr int threads = 256, blocks = 65'536, runs = 20;
  gpu::DeviceArray<float> values(threads * blocks), sum(1);
  fill<<<blocks, threads>>>(values.data());
  CUDA_CHECK(cudaGetLastError());

  std::set<float> results;
  for (int run = 0; run < runs; ++run) {
    sum.zero();
    add_all<<<blocks, threads>>>(values.data(), sum.data());
    CUDA_CHECK(cudaGetLastError());
    results.insert(sum.to_host().front());
  }
  cookbook::println("{} runs, {} different sums, from {} to {}", runs, results.size(), *results.begin(),
                    *results.rbegin());
  if (results.size() == 1) return 0;
  cookbook::println("the sum depends on the run");
  return 1;
}

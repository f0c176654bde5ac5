// Pitfall: all threads make the same random numbers
//
// A generator with the same seed gives the same numbers; that is what a seed is for. Here each of 1024 threads has a
// generator of its own, but all of them have the same seed and begin at the same place of the same sequence.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_random/cuda_random_same_sequence.cu common/cookbook/*.cpp -lfmt -o cuda_random_same_sequence
// Run:     cuda_random_same_sequence
// Symptom: exit 1, prints "different numbers: 1, threads: 1024"

#include <curand_kernel.h>

#include <set>

#include "cookbook/cuda.hpp"

__global__ void one_number_each(float* numbers) {
  const int me = blockIdx.x * blockDim.x + threadIdx.x;
  curandStatePhilox4_32_10_t state;
  curand_init(1, 0, 0, &state);  // wrong: seed, sequence and place are the same for all; the sequence has to be `me`
  numbers[me] = curand_uniform(&state);
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  gpu::DeviceArray<float> numbers(1024);
  one_number_each<<<4, 256>>>(numbers.data());
  CUDA_CHECK(cudaGetLastError());

  const std::vector<float> host = numbers.to_host();
  const std::set<float> different(host.begin(), host.end());
  cookbook::println("different numbers: {}, threads: {}", different.size(), host.size());
  return different.size() > 1 ? 0 : 1;
}

// Pitfall: the host reads before the kernel has written
//
// The kernel writes its results directly into memory of the host, so no copy is needed. But cudaMemcpy would have
// waited for the kernel, and a launch does not wait. The host looks at once, and finds what was there before. The
// kernel here takes 50 million clock cycles, so that this happens in practically every run.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_memory_kinds/cuda_memory_kinds_no_wait.cu common/cookbook/*.cpp -lfmt -o cuda_memory_kinds_no_wait
// Run:     cuda_memory_kinds_no_wait
// Symptom: exit 1, prints "256 of 256 results were not there yet"

#include <algorithm>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

__global__ void square(int* results) {
  const long long start = clock64();
  while (clock64() - start < 50'000'000) {  // stands for work that takes a while
  }
  results[threadIdx.x] = threadIdx.x * threadIdx.x;
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  constexpr int count = 256;
  int* results;  // one address for host and device
  CUDA_CHECK(cudaMallocHost(&results, count * sizeof(int)));
  std::fill_n(results, count, -1);

  square<<<1, count>>>(results);
  CUDA_CHECK(cudaGetLastError());
  // wrong: the host does not wait for the kernel
  const auto missing = std::count(results, results + count, -1);

  CUDA_CHECK(cudaDeviceSynchronize());  // before the memory is freed
  CUDA_CHECK(cudaFreeHost(results));
  cookbook::println("{} of {} results were not there yet", missing, count);
  return missing == 0 ? 0 : 1;
}

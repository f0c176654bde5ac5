// Pitfall: the host takes a prefetch for a copy
//
// A kernel writes its results into managed memory, and a prefetch brings the pages back to the host. cudaMemcpy() would
// have waited for the kernel; a prefetch is only queued behind it. The host may read the memory at any time, and finds
// what was there before. The kernel here takes 50 million clock cycles, so that this happens in every run.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_managed_memory/cuda_managed_memory_no_wait.cu common/cookbook/*.cpp -lfmt -o cuda_managed_memory_no_wait
// Run:     cuda_managed_memory_no_wait
// Symptom: exit 1, prints "256 of 256 results were not there yet"

#include <algorithm>

#include "managed.hpp"

__global__ void square(int* results) {
  const long long start = clock64();
  while (clock64() - start < 50'000'000) {  // stands for work that takes a while
  }
  results[threadIdx.x] = threadIdx.x * threadIdx.x;
}

int main() {
  if (!gpu::device_found() || !pages_move()) return gpu::skipped;
  constexpr int count = 256;
  ManagedArray<int> results(count);
  std::fill_n(results.data(), count, -1);

  square<<<1, count>>>(results.data());
  CUDA_CHECK(cudaGetLastError());
  prefetch(results.data(), results.bytes(), on_host());
  // wrong: the host does not wait for what it has queued
  const auto missing = std::count(results.data(), results.data() + count, -1);

  cookbook::println("{} of {} results were not there yet", missing, count);
  CUDA_CHECK(cudaDeviceSynchronize());  // before the memory is freed
  return missing == 0 ? 0 : 1;
}

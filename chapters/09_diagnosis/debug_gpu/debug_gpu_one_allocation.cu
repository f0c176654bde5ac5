// Pitfall: several arrays in one allocation
//
// The same store behind the end of an array as in debug_gpu. But both arrays were cut out of one allocation, as pools
// of memory do. memcheck knows allocations, not arrays: to it the store is valid, and it reports nothing.
//
// Compile: nvcc -std=c++20 -O3 -lineinfo -arch=native -Icommon chapters/09_diagnosis/debug_gpu/debug_gpu_one_allocation.cu common/cookbook/*.cpp -lfmt -o debug_gpu_one_allocation
// Run:     debug_gpu_one_allocation
// Symptom: exit 1, prints "of the other array: 1"

#include <vector>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

constexpr int threads = 256, count = 1000;

__global__ void set_squares(int* squares) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= count) squares[i] = i * i;  // wrong: element 1000 is the first one of the other array
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  gpu::DeviceArray<int> pool(std::vector<int>(2 * count, -1));
  int* const squares = pool.data();  // elements 0 to 999 of the pool; the other array has 1000 to 1999
  set_squares<<<(count + threads - 1) / threads, threads>>>(squares);
  CUDA_CHECK(cudaGetLastError());

  const std::vector<int> numbers = pool.to_host();
  int wrong_squares = 0, wrong_others = 0;
  for (int i = 0; i < count; ++i) {
    wrong_squares += numbers[i] != i * i;
    wrong_others += numbers[count + i] != -1;
  }
  cookbook::println("wrong squares: {}, wrong numbers of the other array: {}", wrong_squares, wrong_others);
  return wrong_squares + wrong_others == 0 ? 0 : 1;
}

// Pitfall: the occupancy of another launch
//
// A grid whose blocks wait for one another must fit on the device at once. The program asks how many blocks fit, but
// without the shared memory that its launch asks for: so it gets the answer for another launch, and the grid is too
// large.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_profiling/cuda_profiling_other_launch.cu common/cookbook/*.cpp -lfmt -o cuda_profiling_other_launch
// Run:     cuda_profiling_other_launch
// Symptom: exit 1, prints "too many blocks in cooperative launch"

#include <cooperative_groups.h>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

constexpr int threads = 256;
constexpr std::size_t shared_bytes = 40 * 1024;

/// Every block waits until all blocks have counted themselves, and looks at the count.
__global__ void count_all(int* blocks, int* waiting) {
  if (threadIdx.x == 0) atomicAdd(blocks, 1);
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0 && *blocks == static_cast<int>(gridDim.x)) atomicAdd(waiting, 1);
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  gpu::DeviceArray<int> counts(2);
  counts.zero();
  int per_multiprocessor = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, count_all, threads, 0));  // wrong
  const int blocks = per_multiprocessor * gpu::multiprocessors();

  int* const both[] = {counts.data(), counts.data() + 1};
  void* arguments[] = {const_cast<int**>(&both[0]), const_cast<int**>(&both[1])};
  const cudaError_t error = cudaLaunchCooperativeKernel(count_all, blocks, threads, arguments, shared_bytes, nullptr);
  if (error != cudaSuccess) {
    cookbook::println("{} blocks per multiprocessor: {}", per_multiprocessor, cudaGetErrorString(error));
    return 1;
  }
  const bool all = counts.to_host()[1] == blocks;
  cookbook::println("{} blocks per multiprocessor have met: {}", per_multiprocessor, all ? "yes" : "no");
  return all && per_multiprocessor > 0 ? 0 : 1;
}

// Pitfall: the block's number is forgotten
//
// threadIdx.x is a thread's number within its block, not within the grid. A kernel that uses it alone works as long as
// there is one block. With four blocks of 256 threads there are 1024 visits, all to the first 256 of 1000 elements,
// which get four each, and the others none.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_thread_index/cuda_thread_index_no_block.cu common/cookbook/*.cpp -lfmt -o cuda_thread_index_no_block
// Run:     cuda_thread_index_no_block
// Symptom: exit 1, prints "744 elements without a visit"

#include <algorithm>
#include <vector>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

__global__ void visit(int* visits, unsigned count) {
  const unsigned i = threadIdx.x;  // missing: blockIdx.x * blockDim.x +
  if (i < count) atomicAdd(&visits[i], 1);
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  constexpr unsigned count = 1000;
  gpu::DeviceArray<int> device_visits(count);
  device_visits.zero();
  visit<<<4, 256>>>(device_visits.data(), count);
  CUDA_CHECK(cudaGetLastError());

  const std::vector<int> visits = device_visits.to_host();
  const auto with = [&](int number) { return std::count(visits.begin(), visits.end(), number); };
  cookbook::println("{} elements with four visits, {} elements without a visit", with(4), with(0));
  return with(1) == count ? 0 : 1;
}

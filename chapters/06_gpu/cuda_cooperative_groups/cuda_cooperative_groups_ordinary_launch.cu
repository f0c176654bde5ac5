// Pitfall: blocks wait for others that cannot start.
//
// The kernel has a barrier of its own: a counter in global memory. A block that runs keeps its place until it ends. So
// where the grid has more blocks than the device runs at once, those that run wait for those that wait for a place. A
// real program would hang; these blocks give up after a fifth of a second.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_cooperative_groups/cuda_cooperative_groups_ordinary_launch.cu common/cookbook/*.cpp -lfmt -o cuda_cooperative_groups_ordinary_launch
// Run:     cuda_cooperative_groups_ordinary_launch
// Symptom: exit 1, prints "blocks have given up"

#include <cuda/atomic>
#include <vector>

#include "cookbook/cuda.hpp"

namespace {

constexpr int threads = 256;

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// Waits until every block of the grid has arrived, or for a fifth of a second.
__device__ void wait_for_all_blocks(unsigned* arrived, unsigned* given_up) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const cuda::atomic_ref<unsigned, cuda::thread_scope_device> blocks(*arrived);
    blocks.fetch_add(1);
    const unsigned long long end = nanoseconds() + 200'000'000;
    while (blocks.load() < gridDim.x) {
      if (nanoseconds() < end) continue;
      atomicAdd(given_up, 1);
      break;
    }
  }
  __syncthreads();
}

/// Turns the order of the values round, in place: each block first loads what other blocks will overwrite.
__global__ void reverse(unsigned* values, unsigned* arrived, unsigned* given_up) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, count = gridDim.x * blockDim.x;
  const unsigned mine = values[i];
  wait_for_all_blocks(arrived, given_up);
  values[count - 1 - i] = mine;
}

}  // namespace

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  const unsigned at_once = gpu::resident_blocks(reverse, threads);
  const unsigned blocks = 2 * at_once;  // wrong: half of them have to wait until the others have ended
  std::vector<unsigned> values(blocks * threads);
  for (unsigned i = 0; i < values.size(); ++i) values[i] = i;
  gpu::DeviceArray<unsigned> device(values), counts(2);
  counts.zero();

  reverse<<<blocks, threads>>>(device.data(), counts.data(), counts.data() + 1);
  CUDA_CHECK(cudaGetLastError());

  const std::vector<unsigned> reversed = device.to_host();
  unsigned wrong = 0;
  for (unsigned i = 0; i < values.size(); ++i) wrong += reversed[i] != values.size() - 1 - i;
  const unsigned given_up = counts.to_host()[1];
  cookbook::println("{} blocks have given up, {} values are wrong", given_up, wrong);
  return given_up == 0 && wrong == 0 ? 0 : 1;
}

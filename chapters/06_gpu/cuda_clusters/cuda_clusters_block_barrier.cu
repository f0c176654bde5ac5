// Pitfall: the blocks of a cluster read each other's shared memory, but each waits for its own threads alone.
//
// The blocks count to different numbers, so some are ready long before others, and read sums that are not complete.
//
// Compile: nvcc -std=c++20 -O3 -arch=compute_90 -Icommon chapters/06_gpu/cuda_clusters/cuda_clusters_block_barrier.cu common/cookbook/*.cpp -lfmt -o cuda_clusters_block_barrier
// Run:     cuda_clusters_block_barrier
// Symptom: exit 1, prints "blocks have a wrong sum"

#include <cooperative_groups.h>

#include <algorithm>
#include <vector>

#include "cookbook/cuda.hpp"

namespace {

namespace cg = cooperative_groups;

constexpr int blocks = 8, threads = 128, clusters = 50, expected = 100 * threads * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8);

__global__ void __cluster_dims__(blocks) add_up(int* sums) {
  __shared__ int counted;
  const cg::cluster_group cluster = cg::this_cluster();
  const int rank = cluster.block_rank();
  if (threadIdx.x == 0) counted = 0;
  cluster.sync();  // all blocks have started, and begin with 0
  for (int i = 0; i < 100 * (rank + 1); ++i) atomicAdd(&counted, 1);
  __syncthreads();  // wrong: the other blocks may still be counting
  int sum = 0;
  for (int other = 0; other < blocks; ++other) sum += *cluster.map_shared_rank(&counted, other);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  cluster.sync();  // no block ends while another one reads its shared memory
}

}  // namespace

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  int device = 0, major = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  if (major < 9) {
    cookbook::print_error("skipped, clusters need a device of compute capability 9.0 or newer");
    return gpu::skipped;
  }
  gpu::DeviceArray<int> sums(clusters * blocks);
  sums.poison();
  add_up<<<clusters * blocks, threads>>>(sums.data());
  CUDA_CHECK(cudaGetLastError());
  const std::vector<int> all = sums.to_host();
  const auto right = std::count(all.begin(), all.end(), expected);
  cookbook::println("{} of {} blocks have a wrong sum", all.size() - right, all.size());
  return right == std::ssize(all) ? 0 : 1;
}

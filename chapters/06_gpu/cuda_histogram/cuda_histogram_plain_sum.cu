// Pitfall: the blocks' counts are not added up atomically
//
// Within a block the threads count by atomic additions. At the end each block adds its counts to the result, but by a
// plain +=: it loads a count, adds to it and stores it. What another block has added in the meantime is lost.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_histogram/cuda_histogram_plain_sum.cu common/cookbook/*.cpp -lfmt -o cuda_histogram_plain_sum
// Run:     cuda_histogram_plain_sum
// Symptom: exit 1, prints "of 16777216 bytes were counted"

#include <numeric>
#include <vector>

#include "cookbook/cuda.hpp"

namespace {

constexpr int bins = 256, threads = 256, blocks = 1024, count = 1 << 24;

__global__ void count_bytes(const unsigned char* samples, unsigned* counts) {
  __shared__ unsigned mine[bins];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * threads + threadIdx.x; i < count; i += blocks * threads) atomicAdd(&mine[samples[i]], 1U);
  __syncthreads();
  counts[threadIdx.x] += mine[threadIdx.x];  // wrong: other blocks do so at the same time
}

}  // namespace

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  std::vector<unsigned char> bytes(count);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));  // each value equally often
  const gpu::DeviceArray<unsigned char> samples(bytes);
  gpu::DeviceArray<unsigned> counts(bins);
  counts.zero();
  count_bytes<<<blocks, threads>>>(samples.data(), counts.data());
  CUDA_CHECK(cudaGetLastError());
  const std::vector<unsigned> result = counts.to_host();
  const unsigned long counted = std::accumulate(result.begin(), result.end(), 0UL);
  cookbook::println("{} of {} bytes were counted", counted, count);
  return counted == count ? 0 : 1;
}

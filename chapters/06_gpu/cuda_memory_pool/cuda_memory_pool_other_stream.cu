// Pitfall: a block is freed in one stream while another one still reads it
//
// The first stream fills a block, and the second one reads it later: it waits for an event, as it should. Then the host
// frees the block in the first stream, at once. The next block of the first stream is the same memory, and it is filled
// with other numbers before the second stream has read the old ones. No call fails, and no address is invalid.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_memory_pool/cuda_memory_pool_other_stream.cu common/cookbook/*.cpp -lfmt -o cuda_memory_pool_other_stream
// Run:     cuda_memory_pool_other_stream
// Symptom: exit 1, prints "256 of 256 numbers that the second stream read were 2; it was to read 1"

#include <algorithm>
#include <vector>

#include "pool.hpp"
#include "stream.hpp"

constexpr int count = 256;

__global__ void fill(int* block, int value) { block[threadIdx.x] = value; }

__global__ void read_later(const int* block, int* result) {
  const long long start = clock64();
  while (clock64() - start < 50'000'000) {  // stands for work that takes a while
  }
  result[threadIdx.x] = block[threadIdx.x];
}

int main() {
  if (!gpu::device_found() || !pools_supported()) return gpu::skipped;
  gpu::DeviceArray<int> result(count);
  Stream first, second;
  Event filled;
  int *block, *next;

  CUDA_CHECK(cudaMallocAsync(&block, count * sizeof(int), first));
  fill<<<1, count, 0, first>>>(block, 1);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaEventRecord(filled, first));
  CUDA_CHECK(cudaStreamWaitEvent(second, filled));
  read_later<<<1, count, 0, second>>>(block, result.data());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaFreeAsync(block, first));  // wrong: the second stream has not read it yet

  CUDA_CHECK(cudaMallocAsync(&next, count * sizeof(int), first));
  fill<<<1, count, 0, first>>>(next, 2);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaFreeAsync(next, first));

  CUDA_CHECK(cudaDeviceSynchronize());
  const std::vector<int> read = result.to_host();
  const auto wrong = std::count(read.begin(), read.end(), 2);
  cookbook::println("{} of {} numbers that the second stream read were 2; it was to read 1", wrong, count);
  return wrong == 0 ? 0 : 1;
}

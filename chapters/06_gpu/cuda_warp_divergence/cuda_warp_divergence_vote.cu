// Pitfall: a vote of the warp inside a branch
//
// Every second thread of a warp asks how many of the warp's 32 numbers are positive. It calls __ballot_sync, which
// collects one bit from each thread, for the threads that __activemask() names: those that happen to be there. Inside
// the `if` that is only half of the warp, so only half of the numbers are counted. No call fails.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_warp_divergence/cuda_warp_divergence_vote.cu common/cookbook/*.cpp -lfmt -o cuda_warp_divergence_vote
// Run:     cuda_warp_divergence_vote
// Symptom: exit 1, prints "16 of 32 positive numbers were counted"

#include <vector>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"

__global__ void count_positive(const float* numbers, int* counts) {
  const int thread = threadIdx.x;
  const float mine = numbers[thread];
  if (thread % 2 == 0) {
    // Wrong here: the vote must be taken before the `if`, by all threads: __ballot_sync(0xFFFFFFFF, mine > 0).
    const unsigned votes = __ballot_sync(__activemask(), mine > 0);
    counts[thread / 2] = __popc(votes);
  }
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  const gpu::DeviceArray<float> numbers(std::vector<float>(32, 1.5F));
  gpu::DeviceArray<int> counts(16);
  count_positive<<<1, 32>>>(numbers.data(), counts.data());
  CUDA_CHECK(cudaGetLastError());

  const int counted = counts.to_host()[0];
  cookbook::println("{} of 32 positive numbers were counted", counted);
  return counted == 32 ? 0 : 1;
}

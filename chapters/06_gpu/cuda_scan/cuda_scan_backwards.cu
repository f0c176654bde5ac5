// Pitfall: blocks wait for blocks that have not started
//
// Each block needs the sum of the block after it, and waits for it. A device runs only so many blocks at once, and in
// practice starts those with low numbers first. They occupy all places, and the blocks that they wait for never get
// one. (So that the program ends, a block gives up after 400 million clock cycles, a fifth of a second at 2 GHz.)
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_scan/cuda_scan_backwards.cu common/cookbook/*.cpp -lfmt -o cuda_scan_backwards
// Run:     cuda_scan_backwards
// Symptom: exit 1, prints "of 20000 sums are right"

#include <cuda/atomic>

#include "cookbook/cuda.hpp"

namespace {

constexpr unsigned blocks = 20'000;
constexpr unsigned long long known = 1ULL << 32;  // this bit beside a sum of 32 bits: it has been computed

using Word = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;

/// sums[b] = b + (b + 1) + ... + (blocks - 1)
__global__ void sum_backwards(unsigned long long* sums, unsigned long long* given_up) {
  const unsigned mine = blockIdx.x;  // wrong: the block after it may not have started
  unsigned long long after = known;
  const long long start = clock64();
  while (mine + 1 < blocks && (after = Word(sums[mine + 1]).load(cuda::memory_order_relaxed)) == 0) {
    if (clock64() - start > 400'000'000) Word(*given_up).store(1, cuda::memory_order_relaxed);
    if (Word(*given_up).load(cuda::memory_order_relaxed) != 0) return;
  }
  Word(sums[mine]).store(after + mine, cuda::memory_order_relaxed);
}

}  // namespace

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  gpu::DeviceArray<unsigned long long> sums(blocks), given_up(1);
  sums.zero();
  given_up.zero();
  sum_backwards<<<blocks, 1>>>(sums.data(), given_up.data());
  CUDA_CHECK(cudaGetLastError());
  const std::vector<unsigned long long> result = sums.to_host();
  unsigned expected = 0, right = 0;
  for (unsigned block = blocks; block-- > 0;) {
    expected += block;
    right += result[block] == (known | expected);
  }
  cookbook::println("{} of {} sums are right", right, blocks);
  return right == blocks ? 0 : 1;
}

/// The sum of one float per thread over a whole grid, in one launch and in the same order on every run: what the fast
/// forms of cuda_reduction and cuda_dot_product have in common. Where the recipe cuda_reduction counts the blocks that
/// have finished, this counts those that have started, while their values are being loaded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cuda/atomic>

#include "cookbook/cuda.hpp"

namespace grid_sum {

constexpr int threads = 512;  ///< of a block
constexpr unsigned warps = threads / 32;

/// For __launch_bounds__: the compiler leaves registers for so many blocks that they fill a multiprocessor.
constexpr int blocks_per_multiprocessor = gpu::threads_per_multiprocessor / threads;

/// Memory on the device for one sum after another; all but the result is 0 before and after.
struct Memory {
  unsigned long long* of_block;  ///< a word per block: 0, or `known` and the bits of its sum
  unsigned* started;             ///< how many blocks have started
  float* result;
};
constexpr unsigned long long known = 1ULL << 32;

using Word = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;

/// For the beginning of a kernel: the place of this block in the order in which blocks start, in thread 0. The answer
/// takes as long as a load; the loads of the values follow at once.
__device__ inline unsigned place_in_order(const Memory& memory) {
  return threadIdx.x == 0 ? atomicAdd(memory.started, 1U) : 0;
}

/// The sum over the block's threads, in thread 0: within each warp by shuffles, then over the warps.
__device__ inline float block_sum(float value) {
  __shared__ float of_warp[warps];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xFFFFFFFF, value, distance);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < warps ? of_warp[lane] : 0;
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xFFFFFFFF, value, distance);
  }
  __syncthreads();  // of_warp may be used again
  return value;
}

/// The end of a kernel: the block that has started last waits for the sums of all others, which have started, and adds
/// them up in the order of the blocks' numbers. One word holds both a sum and the mark that it is there, so neither can
/// come without the other, and the blocks need not wait until their writes can be seen.
__device__ inline void add_up(float mine, unsigned place, const Memory& memory) {
  __shared__ bool last;
  if (threadIdx.x == 0) last = place == gridDim.x - 1;
  mine = block_sum(mine);  // with barriers, so all threads see `last`
  if (threadIdx.x == 0) {
    Word(memory.of_block[blockIdx.x]).store(known | __float_as_uint(mine), cuda::memory_order_relaxed);
  }
  if (!last) return;
  mine = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += threads) {
    Word word(memory.of_block[block]);
    unsigned long long value;
    while ((value = word.load(cuda::memory_order_relaxed)) == 0) {
    }
    word.store(0, cuda::memory_order_relaxed);
    mine += __uint_as_float(static_cast<unsigned>(value));
  }
  mine = block_sum(mine);
  if (threadIdx.x == 0) {
    *memory.result = mine;
    *memory.started = 0;
  }
}

/// The memory, and the largest grid of a kernel whose blocks are all on the device at once.
class Sum {
 public:
  template <typename... Arguments>
  explicit Sum(void (*kernel)(Arguments...))
      : most_blocks_(gpu::resident_blocks(kernel, threads)), of_block_(most_blocks_), result_(1), started_(1) {
    of_block_.zero();
    started_.zero();
  }

  Memory memory() { return {of_block_.data(), started_.data(), result_.data()}; }

  /// Blocks for `count` values of which each block takes so many at a time.
  unsigned blocks_for(std::size_t count, std::size_t per_block) const {
    return static_cast<unsigned>(std::clamp<std::size_t>((count + per_block - 1) / per_block, 1, most_blocks_));
  }

  gpu::DeviceArray<float>& result() { return result_; }

 private:
  std::size_t most_blocks_;
  gpu::DeviceArray<unsigned long long> of_block_;
  gpu::DeviceArray<float> result_;
  gpu::DeviceArray<unsigned> started_;
};

}  // namespace grid_sum

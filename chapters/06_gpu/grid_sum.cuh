/// The sum of one float per thread over a whole grid, in one launch and in the same order on every run: what the fast
/// forms of cuda_reduction and cuda_dot_product have in common. The recipe cuda_reduction explains it.
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

/// Memory on the device for one sum after another. `of_block` has room for one value per block; `finished` counts
/// blocks, and is 0 before and after.
struct Memory {
  float* of_block;
  unsigned* finished;
  float* result;
};

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

/// The end of a kernel: the block that finishes last adds up what all blocks have left, in the order of their numbers.
__device__ inline void add_up(float mine, const Memory& memory) {
  mine = block_sum(mine);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    memory.of_block[blockIdx.x] = mine;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> count_of_finished(*memory.finished);
    last = count_of_finished.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  mine = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += threads) mine += memory.of_block[block];
  mine = block_sum(mine);
  if (threadIdx.x == 0) {
    *memory.result = mine;
    *memory.finished = 0;
  }
}

/// The memory, and the largest grid of a kernel whose blocks are all on the device at once.
class Sum {
 public:
  template <typename... Arguments>
  explicit Sum(void (*kernel)(Arguments...))
      : most_blocks_(gpu::resident_blocks(kernel, threads)), of_block_(most_blocks_), result_(1), finished_(1) {
    finished_.zero();
  }

  Memory memory() { return {of_block_.data(), finished_.data(), result_.data()}; }

  /// Blocks for `count` values of which each block takes so many at a time.
  unsigned blocks_for(std::size_t count, std::size_t per_block) const {
    return static_cast<unsigned>(std::clamp<std::size_t>((count + per_block - 1) / per_block, 1, most_blocks_));
  }

  gpu::DeviceArray<float>& result() { return result_; }

 private:
  std::size_t most_blocks_;
  gpu::DeviceArray<float> of_block_, result_;
  gpu::DeviceArray<unsigned> finished_;
};

}  // namespace grid_sum

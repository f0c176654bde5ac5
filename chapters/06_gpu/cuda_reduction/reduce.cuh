/// A reduction on the device in one launch: the threads of a warp, the warps of a block, and the blocks of the grid.
#pragma once

#include <cuda/atomic>

#include "cookbook/cuda.hpp"

constexpr unsigned whole_warp = 0xFFFFFFFF;  ///< a mask with one bit for each of the 32 threads of a warp

/// Lane 0, the first thread of the warp, returns the result of the 32 values. What the others return does not count: a
/// thread without another at that distance gets its own value back.
template <typename Value, typename Operation>
__device__ Value reduce_warp(Value value, Operation operation) {
  for (int distance = 16; distance > 0; distance /= 2) {
    value = operation(value, __shfl_down_sync(whole_warp, value, distance));
  }
  return value;
}

/// Thread 0 returns the result of all values of the block, whose number of threads is a multiple of 32.
template <typename Value, typename Operation>
__device__ Value reduce_block(Value value, Operation operation, Value neutral) {
  __shared__ Value of_warp[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = reduce_warp(value, operation);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp == 0) value = reduce_warp(lane < blockDim.x / 32 ? of_warp[lane] : neutral, operation);
  __syncthreads();  // of_warp may be used again
  return value;
}

/// What a kernel needs besides the values. `of_block` has room for one value per block; `finished` counts the blocks
/// that have left theirs, and is 0 before and after.
template <typename Value>
struct Memory {
  Value* of_block;
  unsigned* finished;
  Value* result;
};

template <typename Value, typename Operation>
__global__ void reduce(const Value* values, int count, Operation operation, Value neutral, Memory<Value> memory) {
  Value mine = neutral;
  const int all_threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += all_threads) mine = operation(mine, values[i]);
  mine = reduce_block(mine, operation, neutral);

  __shared__ bool last;
  if (threadIdx.x == 0) {
    memory.of_block[blockIdx.x] = mine;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> finished(*memory.finished);
    last = finished.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;

  mine = neutral;
  for (int block = threadIdx.x; block < gridDim.x; block += blockDim.x) mine = operation(mine, memory.of_block[block]);
  mine = reduce_block(mine, operation, neutral);
  if (threadIdx.x == 0) {
    *memory.result = mine;
    *memory.finished = 0;
  }
}

/// Reduces arrays with blocks of `warps` warps, as many as the device runs at once. The operation has to be commutative
/// and, but for rounding, associative, and operation(neutral, a) has to be a. The result of no values is `neutral`. The
/// order of the operations depends on the number of values, on `warps` and on the device; so it is the same in every
/// run.
template <typename Value, typename Operation>
class Reduction {
 public:
  Reduction(Operation operation, Value neutral, int warps)
      : operation_(operation),
        neutral_(neutral),
        threads_(32 * warps),
        blocks_(gpu::resident_blocks(reduce<Value, Operation>, threads_)),
        of_block_(blocks_),
        result_(1),
        finished_(1) {
    finished_.zero();
  }

  /// Queues the reduction of the first `count` of the device's values.
  void start(const Value* values, int count, cudaStream_t stream = nullptr) {
    const Memory<Value> memory{of_block_.data(), finished_.data(), result_.data()};
    reduce<<<blocks_, threads_, 0, stream>>>(values, count, operation_, neutral_, memory);
    CUDA_CHECK(cudaGetLastError());
  }

  gpu::DeviceArray<Value>& result() { return result_; }

 private:
  Operation operation_;
  Value neutral_;
  int threads_, blocks_;
  gpu::DeviceArray<Value> of_block_, result_;
  gpu::DeviceArray<unsigned> finished_;
};

/// One reduction, with its result.
template <typename Value, typename Operation>
Value reduced(const gpu::DeviceArray<Value>& values, Operation operation, Value neutral, int warps) {
  Reduction<Value, Operation> reduction(operation, neutral, warps);
  reduction.start(values.data(), static_cast<int>(values.size()));
  return reduction.result().to_host().front();
}

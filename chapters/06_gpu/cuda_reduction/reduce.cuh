/// A reduction on the device in one launch: the threads of a warp, the warps of a block, and the blocks of the grid.
#pragma once

#include <cuda/atomic>

#include "cookbook/cuda.hpp"

constexpr unsigned whole_warp = 0xFFFFFFFF;  ///< a mask with one bit for each of the 32 threads of a warp

/// Lane 0, the first thread of the warp, returns the result of the 32 values.
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

/// `of_block` has room for one value per block; `finished` counts the blocks that have left theirs, and begins with 0.
template <typename Value, typename Operation>
__global__ void reduce(const Value* values, int count, Operation operation, Value neutral, Value* of_block,
                       unsigned* finished, Value* result) {
  Value mine = neutral;
  const int all_threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += all_threads) mine = operation(mine, values[i]);
  mine = reduce_block(mine, operation, neutral);

  __shared__ bool last;
  if (threadIdx.x == 0) {
    of_block[blockIdx.x] = mine;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> count_of_finished(*finished);
    last = count_of_finished.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;

  mine = neutral;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x) mine = operation(mine, of_block[block]);
  mine = reduce_block(mine, operation, neutral);
  if (threadIdx.x == 0) *result = mine;
}

/// Reduces `values` with blocks of `warps` warps. The operation has to be associative and commutative, and
/// operation(neutral, a) has to be a. The result of no values is `neutral`. The order of the operations is the same in
/// every run: it depends on the number of values, on `warps`, and on how many multiprocessors the device has.
template <typename Value, typename Operation>
Value reduced(const gpu::DeviceArray<Value>& values, Operation operation, Value neutral, int warps) {
  const int blocks = 2 * gpu::multiprocessors();  // any number will do
  gpu::DeviceArray<Value> of_block(blocks), result(1);
  gpu::DeviceArray<unsigned> finished(1);
  finished.zero();
  reduce<<<blocks, 32 * warps>>>(values.data(), static_cast<int>(values.size()), operation, neutral, of_block.data(),
                                 finished.data(), result.data());
  CUDA_CHECK(cudaGetLastError());
  return result.to_host().front();
}

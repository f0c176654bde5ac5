/// Map and reduce on the device: one value per index, and all of them combined into one.
#pragma once

#include "cookbook/cuda.hpp"

/// Each thread combines the values of its own indices; then each block combines those of its threads, as a tree.
template <typename Value, typename Map, typename Reduce>
__global__ void map_and_reduce(int count, Map map, Reduce reduce, Value neutral, Value* of_block) {
  __shared__ Value values[1024];  // one for each thread of the block
  const int me = threadIdx.x;

  Value mine = neutral;
  const int all_threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + me; i < count; i += all_threads) mine = reduce(mine, map(i));
  values[me] = mine;
  __syncthreads();

  for (int left = blockDim.x; left > 1;) {  // so many values are left; the upper half is combined with the lower one
    const int half = (left + 1) / 2;
    if (me + half < left) values[me] = reduce(values[me], values[me + half]);
    __syncthreads();
    left = half;
  }
  if (me == 0) of_block[blockIdx.x] = values[0];
}

/// Maps an index to an element of an array.
template <typename Value>
struct Element {
  const Value* values;
  __device__ Value operator()(int i) const { return values[i]; }
};

/// Queues reduce(... reduce(map(0), map(1)) ..., map(count - 1)), in any order: one launch for all indices, and one
/// block for the results of the blocks. `of_block` has room for one value per block. `reduce` has to be associative and
/// commutative, and reduce(neutral, a) has to be a. The result of no values is `neutral`.
template <typename Value, typename Map, typename Reduce>
void start_map_reduce(int count, Map map, Reduce reduce, Value neutral, int blocks, int threads, Value* of_block,
                      Value* result) {
  map_and_reduce<<<blocks, threads>>>(count, map, reduce, neutral, of_block);
  CUDA_CHECK(cudaGetLastError());
  map_and_reduce<<<1, threads>>>(blocks, Element<Value>{of_block}, reduce, neutral, result);
  CUDA_CHECK(cudaGetLastError());
}

/// The same with memory of its own; returns the result.
template <typename Value, typename Map, typename Reduce>
Value map_reduce(int count, Map map, Reduce reduce, Value neutral, int blocks, int threads) {
  gpu::DeviceArray<Value> of_block(blocks), result(1);
  start_map_reduce(count, map, reduce, neutral, blocks, threads, of_block.data(), result.data());
  return result.to_host().front();
}

/// A thread's number in the whole grid, worked out from its coordinates.
#pragma once

#include <cuda_runtime.h>

/// The number of a position in a box: x counts fastest, then y, then z. So the positions of a 4 x 3 x 2 box get the
/// numbers 0 to 23. `box` is blockDim for a thread's position, or gridDim for a block's.
__host__ __device__ inline unsigned rank_in(dim3 box, uint3 position) {
  return position.x + box.x * (position.y + box.y * position.z);
}

/// The number of a thread among all threads of the grid: the blocks before its own are full, then comes its place in
/// its own block.
__host__ __device__ inline unsigned rank_in_grid(dim3 grid, dim3 block, uint3 block_index, uint3 thread_index) {
  const unsigned threads_per_block = block.x * block.y * block.z;
  return rank_in(grid, block_index) * threads_per_block + rank_in(block, thread_index);
}

/// What comes before a block's part of an array, found in a single pass: each block handles one tile, tells the others
/// its sum, and looks back at the tiles before it. For cuda_scan's kernels.
/// D. Merrill, M. Garland: Single-pass Parallel Prefix Scan with Decoupled Look-back, NVIDIA, 2016.
#pragma once

#include <cuda/atomic>

#include "cookbook/cuda.hpp"

constexpr unsigned whole_warp = 0xFFFFFFFF;  ///< a mask with one bit for each of the 32 threads of a warp

/// What the blocks tell one another: all 0 at first. The state of a tile is 0 as long as nothing is known of it. Then
/// its lower half is a sum, and its upper half says which. Both halves are one word, so nobody sees one without the
/// other.
struct Tiles {
  unsigned long long* taken;   ///< how many tiles blocks have taken
  unsigned long long* states;  ///< one per tile
};
constexpr unsigned long long tile_alone = 1ULL << 32, with_all_before = 2ULL << 32;

using State = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;

/// The number of this block's tile. Blocks take tiles in the order in which they start; so a block that looks back
/// waits only for blocks that have started.
__device__ inline int take_tile(const Tiles& tiles) {
  __shared__ int tile;
  if (threadIdx.x == 0) tile = static_cast<int>(atomicAdd(tiles.taken, 1ULL));
  __syncthreads();
  return tile;
}

/// The sum of all tiles before this one, for one warp. Lane 0, the warp's first thread, looks at the tile just before,
/// lane 31 at the one 32 places back. The warp waits until it knows the sums of the nearest tiles, up to one that is
/// known with all before it. If none of these 32 is, it goes on with the 32 before them.
__device__ inline unsigned look_back(const Tiles& tiles, int tile) {
  const int lane = threadIdx.x % 32;
  unsigned sum = 0;
  for (int nearest = tile - 1;; nearest -= 32) {
    unsigned long long state;
    unsigned known, complete, needed;
    do {
      const int seen = nearest - lane;
      state = seen < 0 ? with_all_before : State(tiles.states[seen]).load(cuda::memory_order_relaxed);
      known = __ballot_sync(whole_warp, state != 0);
      complete = __ballot_sync(whole_warp, state >= with_all_before);
      needed = complete ^ (complete - 1);  // the bits up to the lowest one of `complete`; all, if it has none
    } while ((known & needed) != needed);

    unsigned part = (needed >> lane & 1) * static_cast<unsigned>(state);
    for (int distance = 16; distance > 0; distance /= 2) part += __shfl_xor_sync(whole_warp, part, distance);
    sum += part;
    if (complete != 0) return sum;
  }
}

/// For all threads of a block: tells the other blocks the sum of this tile, and returns that of all before it.
__device__ inline unsigned sum_before(const Tiles& tiles, int tile, unsigned of_tile) {
  __shared__ unsigned before;
  if (threadIdx.x < 32) {
    State state(tiles.states[tile]);
    if (threadIdx.x == 0) state.store(tile_alone | of_tile, cuda::memory_order_relaxed);
    const unsigned sum = look_back(tiles, tile);
    if (threadIdx.x == 0) {
      state.store(with_all_before | (sum + of_tile), cuda::memory_order_relaxed);
      before = sum;
    }
  }
  __syncthreads();
  return before;
}

/// The words of one scan after another.
class TileMemory {
 public:
  explicit TileMemory(std::size_t tiles) : words_(1 + tiles) {}

  /// Queues that all words become 0, and returns them.
  Tiles cleared(cudaStream_t stream) {
    CUDA_CHECK(cudaMemsetAsync(words_.data(), 0, words_.size() * sizeof(unsigned long long), stream));
    return {words_.data(), words_.data() + 1};
  }

 private:
  gpu::DeviceArray<unsigned long long> words_;
};

/// Prefix sums, one tile of the array per block. How a block learns what comes before its tile is in look_back.cuh.
#pragma once

#include "look_back.cuh"

/// At least so many blocks fit on a multiprocessor: 1024 threads, with up to 64 registers each.
constexpr int resident = 4;
constexpr int warps = 8, threads = 32 * warps;             ///< of a block
constexpr int fours = 8, tile_size = threads * 4 * fours;  ///< a thread takes `fours` times four neighbours

inline unsigned tiles_of(std::size_t count) { return static_cast<unsigned>((count + tile_size - 1) / tile_size); }

/// Where the thread's four number c begins. The fours of a warp with the same c are neighbours, so the warp loads 512
/// bytes in one piece.
__device__ inline std::size_t place(int tile, int c) {
  return std::size_t(tile) * tile_size + threadIdx.x / 32 * (128 * fours) + c * 128 + threadIdx.x % 32 * 4;
}

/// The thread's part of a tile; 0 stands for what is behind the array's end.
__device__ inline void load(const unsigned* in, std::size_t count, int tile, uint4 (&four)[fours]) {
  const bool whole = std::size_t(tile + 1) * tile_size <= count;
#pragma unroll
  for (int c = 0; c < fours; ++c) {
    const std::size_t i = place(tile, c);
    if (whole) {
      four[c] = __ldcs(reinterpret_cast<const uint4*>(in + i));
    } else {
      four[c] = {i < count ? in[i] : 0, i + 1 < count ? in[i + 1] : 0, i + 2 < count ? in[i + 2] : 0,
                 i + 3 < count ? in[i + 3] : 0};
    }
  }
}

__device__ inline void store(unsigned* out, std::size_t count, int tile, const uint4 (&four)[fours]) {
  const bool whole = std::size_t(tile + 1) * tile_size <= count;
#pragma unroll
  for (int c = 0; c < fours; ++c) {
    const std::size_t i = place(tile, c);
    if (whole) {
      __stcs(reinterpret_cast<uint4*>(out + i), four[c]);
    } else {
      const unsigned values[] = {four[c].x, four[c].y, four[c].z, four[c].w};
      for (int j = 0; j < 4; ++j) {
        if (i + j < count) out[i + j] = values[j];
      }
    }
  }
}

/// The sum over the lanes of the warp up to this one: each step adds the sum of twice as many.
__device__ inline unsigned sum_up_to_lane(unsigned value) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const unsigned other = __shfl_up_sync(whole_warp, value, distance);
    if (threadIdx.x % 32 >= distance) value += other;
  }
  return value;
}

struct Sums {
  unsigned before_warp, of_tile;
};

/// From the sum of each warp: what comes before this warp within the tile, and the tile's sum.
__device__ inline Sums sums_of_tile(unsigned of_warp) {
  __shared__ unsigned of_warps[warps];
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = of_warp;
  __syncthreads();
  Sums sums{0, 0};
#pragma unroll
  for (unsigned warp = 0; warp < warps; ++warp) {
    if (warp == threadIdx.x / 32) sums.before_warp = sums.of_tile;
    sums.of_tile += of_warps[warp];
  }
  return sums;
}

/// Makes the values of a warp their prefix sums within the warp, and returns the sum of all.
__device__ inline unsigned scan_warp(uint4 (&four)[fours]) {
  unsigned so_far = 0;
#pragma unroll
  for (int c = 0; c < fours; ++c) {
    four[c].y += four[c].x;
    four[c].z += four[c].y;
    four[c].w += four[c].z;
    const unsigned of_four = four[c].w, up_to_mine = sum_up_to_lane(of_four), before = so_far + up_to_mine - of_four;
    four[c] = {four[c].x + before, four[c].y + before, four[c].z + before, four[c].w + before};
    so_far += __shfl_sync(whole_warp, up_to_mine, 31);
  }
  return so_far;
}

/// out[i] = in[0] + in[1] + ... + in[i]. `tiles` knows how to take a tile, and what comes before it: take_tile() and
/// sum_before() for Tiles are in look_back.cuh, those for KnownTiles below.
template <typename AnyTiles>
__global__ void __launch_bounds__(threads, resident)
    scan(const unsigned* in, unsigned* out, std::size_t count, AnyTiles tiles) {
  const int tile = take_tile(tiles);
  uint4 four[fours];
  load(in, count, tile, four);
  const Sums sums = sums_of_tile(scan_warp(four));
  const unsigned before = sum_before(tiles, tile, sums.of_tile) + sums.before_warp;
#pragma unroll
  for (int c = 0; c < fours; ++c) {
    four[c] = {four[c].x + before, four[c].y + before, four[c].z + before, four[c].w + before};
  }
  store(out, count, tile, four);
}

/// The tiles of the scan in three launches: nobody looks back, since the sums are there.
struct KnownTiles {
  const unsigned* sums;  ///< of each tile and all before it
};
__device__ inline int take_tile(KnownTiles) { return blockIdx.x; }
__device__ inline unsigned sum_before(KnownTiles tiles, int tile, unsigned) {
  return tile == 0 ? 0 : tiles.sums[tile - 1];
}

/// The first of these launches.
__global__ void __launch_bounds__(threads) sum_tiles(const unsigned* in, std::size_t count, unsigned* of_tile) {
  uint4 four[fours];
  load(in, count, blockIdx.x, four);
  const Sums sums = sums_of_tile(scan_warp(four));
  if (threadIdx.x == 0) of_tile[blockIdx.x] = sums.of_tile;
}

/// For comparison: loads and stores in the same manner, and nothing else.
__global__ void __launch_bounds__(threads) copy(const unsigned* in, unsigned* out, std::size_t count) {
  uint4 four[fours];
  load(in, count, blockIdx.x, four);
  store(out, count, blockIdx.x, four);
}

/// Compaction in a single pass: keeps the odd numbers of an array. cuda_scan_bench measures it.
#pragma once

#include "scan.cuh"

/// Odd numbers stay. What load() puts behind the end, 0, must not.
struct IsOdd {
  __host__ __device__ bool operator()(unsigned value) const { return value % 2 == 1; }
};

/// Puts the odd ones of `in` side by side into `out`, in their order, and writes how many there are.
__global__ void __launch_bounds__(threads, resident)
    compact(const unsigned* in, unsigned* out, std::size_t count, unsigned* kept, Tiles tiles) {
  __shared__ unsigned odd_ones[tile_size];
  const int tile = take_tile(tiles);
  uint4 four[fours];
  load(in, count, tile, four);
  unsigned before[fours], of_warp = 0;  // of each four: the odd ones before it within the warp
#pragma unroll
  for (int c = 0; c < fours; ++c) {
    const unsigned odd = four[c].x % 2 + four[c].y % 2 + four[c].z % 2 + four[c].w % 2,
                   up_to_mine = sum_up_to_lane(odd);
    before[c] = of_warp + up_to_mine - odd;
    of_warp += __shfl_sync(whole_warp, up_to_mine, 31);
  }
  const Sums sums = sums_of_tile(of_warp);
#pragma unroll
  for (int c = 0; c < fours; ++c) {
    unsigned to = sums.before_warp + before[c];
    if (IsOdd{}(four[c].x)) odd_ones[to++] = four[c].x;
    if (IsOdd{}(four[c].y)) odd_ones[to++] = four[c].y;
    if (IsOdd{}(four[c].z)) odd_ones[to++] = four[c].z;
    if (IsOdd{}(four[c].w)) odd_ones[to++] = four[c].w;
  }
  const unsigned before_tile = sum_before(tiles, tile, sums.of_tile);  // and a barrier: odd_ones is complete
  for (unsigned i = threadIdx.x; i < sums.of_tile; i += threads) out[before_tile + i] = odd_ones[i];
  if (threadIdx.x == 0 && tile == gridDim.x - 1) *kept = before_tile + sums.of_tile;
}

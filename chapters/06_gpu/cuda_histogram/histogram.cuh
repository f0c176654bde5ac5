/// Counting how often each byte occurs, with counters in different places. Each kernel adds to `counts`, which must be
/// 0 at the start.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cookbook/cuda.hpp"

using Sample = unsigned char;
constexpr int bins = 256, threads = 1024;  // of a block

/// Calls function(sample) for this thread's share of the samples, which begin on a 16-byte boundary. Each load takes 16
/// of them, and four loads are under way before the first is used. The threads of a warp load neighbouring addresses.
template <typename Function>
__device__ void for_each_sample(const Sample* samples, std::size_t count, Function function) {
  constexpr int in_flight = 4;
  const auto* sixteens = reinterpret_cast<const uint4*>(samples);
  const std::size_t whole = count / 16, me = std::size_t(blockIdx.x) * threads + threadIdx.x,
                    all_threads = std::size_t(gridDim.x) * threads;
  const auto each_of_four = [&](unsigned word) {
    for (int shift = 0; shift < 32; shift += 8) function(word >> shift & 0xFF);
  };
  for (std::size_t first = me; first < whole; first += in_flight * all_threads) {
    uint4 loaded[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (first + u * all_threads < whole) loaded[u] = __ldcs(sixteens + first + u * all_threads);
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (first + u * all_threads >= whole) break;
      each_of_four(loaded[u].x);
      each_of_four(loaded[u].y);
      each_of_four(loaded[u].z);
      each_of_four(loaded[u].w);
    }
  }
  if (whole * 16 + me < count) function(samples[whole * 16 + me]);  // up to 15 samples behind the last sixteen
}

/// All threads of the grid share 256 counters in the device's memory.
__global__ void __launch_bounds__(threads) count_in_global(const Sample* samples, std::size_t count, unsigned* counts) {
  for_each_sample(samples, count, [=](unsigned sample) { atomicAdd(&counts[sample], 1U); });
}

/// Each block has `sets` sets of counters of its own in its shared memory, of which a thread uses the one that its
/// place in the warp says. At the end each block adds its sums to `counts`.
template <int sets>
__global__ void __launch_bounds__(threads) count_in_shared(const Sample* samples, std::size_t count, unsigned* counts) {
  __shared__ unsigned mine[bins][sets];
  for (int i = threadIdx.x; i < bins * sets; i += threads) mine[i / sets][i % sets] = 0;
  __syncthreads();

  const int set = threadIdx.x % sets;
  for_each_sample(samples, count, [&](unsigned sample) { atomicAdd(&mine[sample][set], 1U); });
  __syncthreads();

  for (int bin = threadIdx.x / sets; bin < bins; bin += threads / sets) {  // `sets` neighbours for each bin
    unsigned sum = mine[bin][set];
    for (int distance = sets / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, distance);
    if (set == 0) mine[bin][0] = sum;
  }
  __syncthreads();
  // Eight warps add to 32 neighbouring counts each, which are one access to memory; so 8 accesses per block.
  if (threadIdx.x < bins && mine[threadIdx.x][0] > 0) atomicAdd(&counts[threadIdx.x], mine[threadIdx.x][0]);
}

/// For comparison: reads all samples and counts nothing.
__global__ void __launch_bounds__(threads) only_read(const Sample* samples, std::size_t count, unsigned* counts) {
  unsigned sum = 0;
  for_each_sample(samples, count, [&](unsigned sample) { sum += sample; });
  if (sum == 0xFFFFFFFF) counts[0] = 0;  // cannot be, but the compiler does not know: it has to load
}

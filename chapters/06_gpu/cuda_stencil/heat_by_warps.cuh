/// The steps of heat.cuh as fast as we can make them: without shared memory, four points per thread and access.
#pragma once

#include <algorithm>

#include "cookbook/cuda.hpp"
#include "heat.cuh"

namespace by_warps {

constexpr int warps = 4;         ///< of a block
constexpr int columns = 4 * 32;  ///< that a warp loads, four per thread

/// The columns at each end of a warp's that are not right after so many steps, rounded up to whole threads.
template <int steps>
constexpr int halo = (steps + 3) / 4 * 4;
template <int steps>
constexpr int stored_columns = columns - 2 * halo<steps>;

/// The next values of four neighbours in a row; those beside them are in the neighbouring threads of the warp.
__device__ inline float4 next_four(float4 centre, float4 up, float4 down) {
  const float before = __shfl_up_sync(0xFFFFFFFF, centre.w, 1), behind = __shfl_down_sync(0xFFFFFFFF, centre.x, 1);
  return {next(centre.x, before, centre.y, up.x, down.x), next(centre.y, centre.x, centre.z, up.y, down.y),
          next(centre.z, centre.y, centre.w, up.z, down.z), next(centre.w, centre.z, behind, up.w, down.w)};
}

/// Each warp goes down a strip of 128 columns, row by row. For each of the steps it keeps the last two rows in
/// registers: as soon as row r has come from memory, row r - 1 can take its first step, then row r - 2 its second, and
/// so on. `side` is a multiple of 4; `rows` are those that a warp stores. With the second number, blocks at once per
/// multiprocessor, the compiler gives eight steps the registers that they need.
template <int steps>
__global__ void __launch_bounds__(32 * warps, steps <= 8 ? 4 : 2)
    advance(const float* in, float* out, int side, int rows) {
  const int lane = threadIdx.x, strip = (blockIdx.x * warps + threadIdx.y) * stored_columns<steps>;
  if (strip >= side) return;  // the whole warp
  const int column = strip - halo<steps> + 4 * lane, first = blockIdx.y * rows, last = min(first + rows, side);
  const bool inside = column >= 0 && column < side;
  const bool stores = inside && lane >= halo<steps> / 4 && lane < 32 - halo<steps> / 4;
  const auto load = [&](int row) {
    if (!inside || row < 0 || row >= side) return float4{};
    return __ldg(reinterpret_cast<const float4*>(in + std::size_t(row) * side + column));
  };
  float4 older[steps] = {}, newer[steps] = {};
  float4 ahead = load(first - steps);
  for (int row = first - steps; row < last + steps; ++row) {
    float4 fresh = ahead;  // row `row`, before the first step
    ahead = load(row + 1);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const float4 centre = newer[step];  // row - step - 1, as the one above it, older[step], and the one below, fresh
      float4 result = next_four(centre, older[step], fresh);
      if (column == 0) result.x = centre.x;
      if (column == side - 4) result.w = centre.w;
      if (row - step - 1 <= 0 || row - step - 1 >= side - 1) result = centre;
      older[step] = centre;
      newer[step] = fresh;
      fresh = result;
    }
    if (row - steps >= first && stores) {
      *reinterpret_cast<float4*>(out + std::size_t(row - steps) * side + column) = fresh;
    }
  }
}

/// Queues so many steps. There are about as many warps as the device runs at once.
template <int steps>
void start(const float* in, float* out, int side, cudaStream_t stream) {
  static const int resident = gpu::resident_blocks(advance<steps>, 32 * warps);
  const int strips = (side + stored_columns<steps> - 1) / stored_columns<steps>, across = (strips + warps - 1) / warps;
  const int down = std::clamp(resident / across, 1, (side + 7) / 8), rows = (side + down - 1) / down;
  advance<steps><<<dim3(across, (side + rows - 1) / rows), dim3(32, warps), 0, stream>>>(in, out, side, rows);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace by_warps

/// One step as fast as we can make it: each thread takes four columns of so many rows, which it loads all at once.
template <int rows>
__global__ void __launch_bounds__(256) step_of_fours(const float* in, float* out, int side) {
  const int lane = threadIdx.x, column = (blockIdx.x * 32 + lane) * 4;
  const int first = (blockIdx.y * blockDim.y + threadIdx.y) * rows;
  const bool inside = column < side;
  const auto load = [&](int row) {
    if (!inside || row < 0 || row >= side) return float4{};
    return __ldg(reinterpret_cast<const float4*>(in + std::size_t(row) * side + column));
  };
  float4 row_of[rows + 2];
  float beside[rows] = {};  // what the first and the last thread of the warp lack
#pragma unroll
  for (int i = 0; i < rows + 2; ++i) row_of[i] = load(first - 1 + i);
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    const int other = lane == 0 ? column - 1 : column + 4;
    if ((lane == 0 || lane == 31) && other >= 0 && other < side && first + i < side) {
      beside[i] = __ldg(in + std::size_t(first + i) * side + other);
    }
  }
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    const int row = first + i;
    const float4 up = row_of[i], centre = row_of[i + 1], down = row_of[i + 2];
    float before = __shfl_up_sync(0xFFFFFFFF, centre.w, 1), behind = __shfl_down_sync(0xFFFFFFFF, centre.x, 1);
    if (lane == 0) before = beside[i];
    if (lane == 31) behind = beside[i];
    float4 result = {next(centre.x, before, centre.y, up.x, down.x), next(centre.y, centre.x, centre.z, up.y, down.y),
                     next(centre.z, centre.y, centre.w, up.z, down.z), next(centre.w, centre.z, behind, up.w, down.w)};
    if (column == 0) result.x = centre.x;
    if (column == side - 4) result.w = centre.w;
    if (row == 0 || row == side - 1) result = centre;
    if (inside && row < side) *reinterpret_cast<float4*>(out + std::size_t(row) * side + column) = result;
  }
}

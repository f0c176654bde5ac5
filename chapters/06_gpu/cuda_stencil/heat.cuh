/// Heat that spreads over a square grid of side x side points, one or several time steps per launch. The points of the
/// grid's edge never change. Compiled for host and device, which get the same bits.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

/// A point's temperature one step later, from its own and its four neighbours': the heat equation, explicit in time
/// (FTCS), with a time step of 1/8 of the squared distance between two points. 4 and 1/8 are powers of two, so these
/// products are exact, and it makes no difference whether a compiler fuses them with the sums.
__host__ __device__ inline float next(float centre, float left, float right, float up, float down) {
  return 0.125F * (4 * centre + (left + right) + (up + down));
}

/// One step, one thread per point. Each thread loads five points from global memory.
__global__ void step_directly(const float* in, float* out, int side) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= side || column >= side) return;
  const std::size_t i = std::size_t(row) * side + column;
  const bool on_edge = row == 0 || row == side - 1 || column == 0 || column == side - 1;
  out[i] = on_edge ? in[i] : next(in[i], in[i - 1], in[i + 1], in[i - side], in[i + side]);
}

constexpr int tile_side = 64, tile_rows_per_thread = 8;  // a block has 64 x 8 threads

/// So many steps at once. A block loads a tile of 64 x 64 points, takes all steps in shared memory, and stores the
/// points in the middle. The others are the halo: in each step one more ring of them is without a neighbour that is
/// known.
template <int steps>
__global__ void steps_in_tiles(const float* in, float* out, int side) {
  __shared__ float tile[2][tile_side][tile_side];
  constexpr int middle = tile_side - 2 * steps;
  const int first_row = int(blockIdx.y) * middle - steps, first_column = int(blockIdx.x) * middle - steps;
  const int x = threadIdx.x, column = first_column + x;
  const int first_y = threadIdx.y * tile_rows_per_thread, last_y = first_y + tile_rows_per_thread;
  for (int y = first_y; y < last_y; ++y) {
    const int row = first_row + y;
    if (row < 0 || row >= side || column < 0 || column >= side) continue;
    tile[0][y][x] = tile[1][y][x] = in[std::size_t(row) * side + column];  // both, for the points that never change
  }
  __syncthreads();
#pragma unroll
  for (int step = 1; step <= steps; ++step) {
    const auto& now = tile[(step - 1) % 2];
    auto& later = tile[step % 2];
    // The points that are at least `step` from the tile's edge, and not on the grid's.
    const int left = max(step, 1 - first_column), right = min(tile_side - step, side - 1 - first_column);
    const int top = max(step, 1 - first_row), bottom = min(tile_side - step, side - 1 - first_row);
    for (int y = max(first_y, top); y < min(last_y, bottom); ++y) {
      if (x >= left && x < right) {
        later[y][x] = next(now[y][x], now[y][x - 1], now[y][x + 1], now[y - 1][x], now[y + 1][x]);
      }
    }
    __syncthreads();
  }
  if (x < steps || x >= tile_side - steps || column >= side) return;
  for (int y = max(first_y, steps); y < min(last_y, tile_side - steps); ++y) {
    const int row = first_row + y;
    if (row < side) out[std::size_t(row) * side + column] = tile[steps % 2][y][x];
  }
}

/// The same on the host.
inline std::vector<float> after_steps(std::vector<float> now, int side, int steps) {
  std::vector<float> later = now;  // the edge stays as it is in both
  for (int step = 0; step < steps; ++step) {
    for (int row = 1; row < side - 1; ++row) {
      const float *up = now.data() + std::size_t(row - 1) * side, *centre = up + side, *down = centre + side;
      float* to = later.data() + std::size_t(row) * side;
      for (int x = 1; x < side - 1; ++x) to[x] = next(centre[x], centre[x - 1], centre[x + 1], up[x], down[x]);
    }
    now.swap(later);
  }
  return now;
}

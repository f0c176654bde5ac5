// Stencil
//
// Heat spreads over a grid on the GPU: in each time step every point gets a new value from its own and its neighbours'.
// The step has little to compute, so it takes as long as the device needs to load and store the grid. The program shows
// the time per step beside that of a copy: first with one step per launch, then with several, which a block takes in
// its shared memory. Every way has to give the bits that the processor gets.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_stencil/cuda_stencil.cu common/cookbook/*.cpp -lfmt -o cuda_stencil
// Run:     cuda_stencil [--side N]

#include <algorithm>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "heat.cuh"

namespace {

constexpr int steps = 16;

__global__ void copy(const float* in, float* out, int side) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < side && column < side) out[std::size_t(row) * side + column] = in[std::size_t(row) * side + column];
}

struct Way {
  const char* name;
  void (*kernel)(const float* in, float* out, int side);
  int steps_per_launch;
  dim3 threads, points;  ///< of a block: its threads, and the points that it stores
};

template <int steps_per_launch>
Way in_tiles(const char* name) {
  constexpr int middle = tile_side - 2 * steps_per_launch;
  return {name, steps_in_tiles<steps_per_launch>, steps_per_launch, dim3(tile_side, tile_side / tile_rows_per_thread),
          dim3(middle, middle)};
}

/// Takes all steps ten times, from `start` on. Returns the shortest time per step in seconds; the last result is in
/// `grid`.
double run(const Way& way, const gpu::DeviceArray<float>& start, gpu::DeviceArray<float>& grid, int side) {
  const dim3 blocks((side + way.points.x - 1) / way.points.x, (side + way.points.y - 1) / way.points.y);
  gpu::DeviceArray<float> other(start.size());
  gpu::EventTimer timer;
  double seconds = 1e9;
  for (int i = 0; i < 10; ++i) {
    CUDA_CHECK(cudaMemcpy(grid.data(), start.data(), start.size() * sizeof(float), cudaMemcpyDeviceToDevice));
    other.poison();
    timer.start();
    for (int step = 0; step < steps; step += way.steps_per_launch) {
      way.kernel<<<blocks, way.threads>>>(grid.data(), other.data(), side);
      CUDA_CHECK(cudaGetLastError());
      std::swap(grid, other);
    }
    seconds = std::min(seconds, timer.stop() / steps);
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  int side = 4096;
  cookbook::Options options("Let heat spread over a grid on a GPU");
  options.add("side", side, "rows and columns of the grid", 3, 32'768);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const std::vector<float> before = gpu::random_numbers(1, std::size_t(side) * side);
  const std::vector<float> after = after_steps(before, side, steps);
  const gpu::DeviceArray<float> start(before);
  gpu::DeviceArray<float> grid(before.size());
  const dim3 threads(32, 8);
  const Way copying = {"copy, for comparison", copy, 1, threads, threads};
  const std::vector<Way> ways = {{"1 step per launch, from global memory", step_directly, 1, threads, threads},
                                 in_tiles<1>("1 step per launch, in shared memory"),
                                 in_tiles<2>("2 steps per launch"),
                                 in_tiles<4>("4 steps per launch"),
                                 in_tiles<8>("8 steps per launch"),
                                 in_tiles<16>("16 steps per launch")};

  const double of_copy = run(copying, start, grid, side);
  int wrong = grid.to_host() != before;
  cookbook::println("{:<40}{:7.1f} us per step", copying.name, of_copy * 1e6);
  for (const Way& way : ways) {
    const double seconds = run(way, start, grid, side);
    wrong += grid.to_host() != after;
    cookbook::println("{:<40}{:7.1f} us per step {:6.2f} x as fast as the copy", way.name, seconds * 1e6,
                      of_copy / seconds);
  }

  cookbook::Checks checks;
  checks.equal("ways with another bit than the processor's", wrong, 0);
  return checks.exit_code();
}

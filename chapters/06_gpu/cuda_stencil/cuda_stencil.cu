// Stencil
//
// Heat spreads over a grid on the GPU: in each time step every point gets a new value from its own and its neighbours'.
// The step has little to compute, so it takes at best as long as a copy of the grid. The program shows the time per
// step beside that of a copy: first with one step per launch, then with several, which a block takes in its shared
// memory, or a warp in its registers. Every way has to give the bits that the processor gets.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_stencil/cuda_stencil.cu common/cookbook/*.cpp -lfmt -o cuda_stencil
// Run:     cuda_stencil [--side N]

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"
#include "heat.cuh"
#include "heat_by_warps.cuh"

namespace {

constexpr int steps = 16;

/// Four points per thread, in one access of 16 bytes.
__global__ void copy(const float4* in, float4* out, std::size_t fours) {
  const std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < fours) out[i] = in[i];
}

struct Way {
  std::string name;
  int steps_per_launch;
  std::function<void(const float* in, float* out, int side)> launch;
};

template <int steps_per_launch>
Way in_tiles() {
  return {fmt::format("{:2} per launch, in shared memory", steps_per_launch), steps_per_launch,
          [](const float* in, float* out, int side) {
            constexpr int middle = tile_side - 2 * steps_per_launch;
            const unsigned tiles = (side + middle - 1) / middle;
            steps_in_tiles<steps_per_launch>
                <<<dim3(tiles, tiles), dim3(tile_side, tile_side / tile_rows_per_thread)>>>(in, out, side);
          }};
}

template <int steps_per_launch>
Way in_registers() {
  return {fmt::format("{:2} per launch, in registers", steps_per_launch), steps_per_launch,
          [](const float* in, float* out, int side) { by_warps::start<steps_per_launch>(in, out, side, nullptr); }};
}

/// Takes all steps ten times, from `start` on. Returns the shortest time per step in seconds; the last result is in
/// `grid`.
double run(const Way& way, const gpu::DeviceArray<float>& start, gpu::DeviceArray<float>& grid, int side) {
  gpu::DeviceArray<float> other(start.size());
  const auto begin_again = [&] {
    CUDA_CHECK(cudaMemcpy(grid.data(), start.data(), start.size() * sizeof(float), cudaMemcpyDeviceToDevice));
    other.poison();
  };
  const auto take_all_steps = [&] {
    for (int step = 0; step < steps; step += way.steps_per_launch) {
      way.launch(grid.data(), other.data(), side);
      CUDA_CHECK(cudaGetLastError());
      std::swap(grid, other);
    }
  };
  return fastest_alone(take_all_steps, 10, begin_again) / steps;
}

}  // namespace

int main(int argc, char** argv) {
  int side = 4096;
  cookbook::Options options("Let heat spread over a grid on a GPU");
  options.add("side", side, "rows and columns of the grid; rounded up to a multiple of 4", 4, 32'768);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  side = (side + 3) / 4 * 4;

  const std::vector<float> before = gpu::random_numbers(1, std::size_t(side) * side);
  const std::vector<float> after = after_steps(before, side, steps);
  const gpu::DeviceArray<float> start(before);
  gpu::DeviceArray<float> grid(before.size());
  const Way copying = {"copy, for comparison", 1, [&](const float* in, float* out, int) {
                         const std::size_t fours = before.size() / 4;
                         copy<<<unsigned((fours + 255) / 256), 256>>>(reinterpret_cast<const float4*>(in),
                                                                      reinterpret_cast<float4*>(out), fours);
                       }};
  const Way directly = {" 1 per launch, a point per thread", 1, [](const float* in, float* out, int n) {
                          step_directly<<<dim3((n + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(in, out, n);
                        }};
  const Way by_fours = {" 1 per launch, 4 x 4 points per thread", 1, [](const float* in, float* out, int n) {
                          step_of_fours<4><<<dim3((n + 127) / 128, (n + 31) / 32), dim3(32, 8)>>>(in, out, n);
                        }};

  const double of_copy = run(copying, start, grid, side);
  int right = grid.to_host() == before;
  cookbook::println("{:<40}{:>10}{:>22}", "steps", "per step", "as fast as the copy");
  cookbook::println("{:<40}{:7.1f} us", copying.name, of_copy * 1e6);
  for (const Way& way : {directly, by_fours, in_tiles<1>(), in_tiles<2>(), in_tiles<4>(), in_tiles<8>(), in_tiles<16>(),
                         in_registers<4>(), in_registers<8>(), in_registers<16>()}) {
    const double seconds = run(way, start, grid, side);
    right += grid.to_host() == after;
    cookbook::println("{:<40}{:7.1f} us{:20.2f} x", way.name, seconds * 1e6, of_copy / seconds);
  }

  cookbook::Checks checks;
  checks.equal("rows with the processor's bits", right, 11);
  return checks.exit_code();
}

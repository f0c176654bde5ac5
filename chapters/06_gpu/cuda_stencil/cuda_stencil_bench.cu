// Stencil, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_stencil/cuda_stencil_bench.cu common/cookbook/*.cpp -lfmt -o cuda_stencil_bench
// Run:     cuda_stencil_bench [--side N] [--rounds N]

#include <functional>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "heat.cuh"
#include "heat_by_warps.cuh"
#include "transpose_wide.cuh"

namespace {

constexpr int all_steps = 16;

using Step = std::function<void(const float* in, float* out, cudaStream_t stream)>;

struct Way {
  const char* name;
  int steps;  ///< that one call takes; 0 for a copy
  Step start;
};

template <int steps>
Way in_tiles(const char* name, int side) {
  return {name, steps, [side](const float* in, float* out, cudaStream_t stream) {
            constexpr int middle = tile_side - 2 * steps;
            const unsigned blocks = (side + middle - 1) / middle;
            steps_in_tiles<steps>
                <<<dim3(blocks, blocks), dim3(tile_side, tile_side / tile_rows_per_thread), 0, stream>>>(in, out, side);
            CUDA_CHECK(cudaGetLastError());
          }};
}

template <int steps>
Way by_warps_of(const char* name, int side) {
  return {name, steps,
          [side](const float* in, float* out, cudaStream_t stream) { by_warps::start<steps>(in, out, side, stream); }};
}

}  // namespace

int main(int argc, char** argv) {
  int side = 4096, rounds = 15;
  cookbook::Options options("How fast heat spreads on a GPU");
  options.add("side", side, "rows and columns of the grid; rounded up to a multiple of 64", 64, 16'384);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  side = (side + 63) / 64 * 64;

  const std::size_t points = std::size_t(side) * side;
  const std::vector<float> before = gpu::random_numbers(1, points), after = after_steps(before, side, all_steps);
  gpu::DeviceArray<float> a(before), b(before);
  const std::vector<Way> ways = {
      {"copy, four points per access", 0,
       [&](const float* in, float* out, cudaStream_t stream) {
         copy_wide<<<points / (16 * wide_threads), wide_threads, 0, stream>>>(reinterpret_cast<const float4*>(in),
                                                                              reinterpret_cast<float4*>(out));
         CUDA_CHECK(cudaGetLastError());
       }},
      {"1 step, from global memory", 1,
       [&](const float* in, float* out, cudaStream_t stream) {
         step_directly<<<dim3((side + 31) / 32, (side + 7) / 8), dim3(32, 8), 0, stream>>>(in, out, side);
         CUDA_CHECK(cudaGetLastError());
       }},
      {"1 step, four points per access", 1,
       [&](const float* in, float* out, cudaStream_t stream) {
         step_of_fours<4><<<dim3((side + 127) / 128, (side + 31) / 32), dim3(32, 8), 0, stream>>>(in, out, side);
         CUDA_CHECK(cudaGetLastError());
       }},
      in_tiles<1>("1 step, in tiles", side),
      in_tiles<4>("4 steps, in tiles", side),
      in_tiles<8>("8 steps, in tiles", side),
      by_warps_of<1>("1 step, in registers", side),
      by_warps_of<2>("2 steps, in registers", side),
      by_warps_of<4>("4 steps, in registers", side),
      by_warps_of<8>("8 steps, in registers", side),
      by_warps_of<16>("16 steps, in registers", side)};

  cookbook::Checks checks;
  std::vector<cookbook::Benchmark> rows;
  for (const Way& way : ways) {
    gpu::DeviceArray<float> now(before), later(points);
    for (int step = 0; step < all_steps; step += std::max(way.steps, 1)) {
      later.poison();
      way.start(now.data(), later.data(), nullptr);
      std::swap(now, later);
    }
    const std::vector<float> result = now.to_host(), &expected = way.steps == 0 ? before : after;
    int wrong = 0;
    for (std::size_t i = 0; i < points; ++i) wrong += !(result[i] == expected[i]);
    checks.equal(fmt::format("{}, wrong points", way.name), wrong, 0);
    const auto there_and_back = [&a, &b, start = way.start](cudaStream_t stream) {
      start(a.data(), b.data(), stream);
      start(b.data(), a.data(), stream);
    };
    rows.push_back(gpu::graph_row(way.name, 2.0 * std::max(way.steps, 1) * points, there_and_back, 5));
  }
  cookbook::Figures figures(fmt::format("grid of {0} x {0} floats", side), cookbook::rate("G points/s", 1e9),
                            gpu::device());
  figures.percent_of("copy, four points per access", "copy");
  figures.measure(rows, rounds);
  figures.print(checks);
  return checks.exit_code();
}

// Mandelbrot set on a GPU, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Xcompiler=-march=native -Icommon chapters/06_gpu/cuda_mandelbrot/cuda_mandelbrot_bench.cu chapters/06_gpu/cuda_mandelbrot/cuda_mandelbrot_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -o cuda_mandelbrot_bench
// Run:     cuda_mandelbrot_bench [--columns N] [--limit N] [--rounds N]

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cuda_mandelbrot_bench.hpp"
#include "mandelbrot.hpp"

namespace {

using Picture = std::vector<std::uint16_t>;

__device__ void draw_pixel(const Frame& frame, std::uint16_t* picture, int column, int row) {
  if (column >= frame.columns || row >= frame.rows) return;
  picture[std::size_t(row) * frame.columns + column] =
      static_cast<std::uint16_t>(escape_step(fmaf(column, frame.pitch, -2), fmaf(row, frame.pitch, -1), frame.limit));
}

/// One pixel per thread; a warp has 32 pixels of a row.
__global__ void draw_lines(Frame frame, std::uint16_t* picture) {
  draw_pixel(frame, picture, blockIdx.x * 32 + threadIdx.x, blockIdx.y * 8 + threadIdx.y);
}

/// The same, but a warp has 8 x 4 pixels. Neighbours take about as many steps, and a warp takes as many as the slowest
/// of its pixels.
__global__ void draw_tiles(Frame frame, std::uint16_t* picture) {
  const int column = threadIdx.x % 8 + threadIdx.y % 4 * 8, row = threadIdx.x / 8 + threadIdx.y / 4 * 4;
  draw_pixel(frame, picture, blockIdx.x * 32 + column, blockIdx.y * 8 + row);
}

/// As escape_step, but with one test per eight steps. A point that has left stays outside, so the test after the eighth
/// step notices it (far outside the numbers become infinite, and then no numbers at all). Then the eight steps are
/// repeated from the state before them, with a test in each.
__device__ int escape_step_of_eights(float cx, float cy, int limit) {
  float x = 0, y = 0;
  int step = 0;
  for (; step + 8 <= limit; step += 8) {
    float later_x = x, later_y = y;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float next_x = fmaf(later_x, later_x, fmaf(-later_y, later_y, cx));
      later_y = fmaf(2 * later_x, later_y, cy);
      later_x = next_x;
    }
    if (!(fmaf(later_x, later_x, later_y * later_y) < 4)) break;
    x = later_x;
    y = later_y;
  }
  for (; step < limit; ++step) {
    const float next_x = fmaf(x, x, fmaf(-y, y, cx));
    y = fmaf(2 * x, y, cy);
    x = next_x;
    if (fmaf(x, x, y * y) >= 4) return step;
  }
  return limit;
}

/// Pixels as in draw_tiles.
__global__ void draw_tiles_of_eights(Frame frame, std::uint16_t* picture) {
  const int column = blockIdx.x * 32 + threadIdx.x % 8 + threadIdx.y % 4 * 8;
  const int row = blockIdx.y * 8 + threadIdx.x / 8 + threadIdx.y / 4 * 4;
  if (column >= frame.columns || row >= frame.rows) return;
  const float x = fmaf(column, frame.pitch, -2), y = fmaf(row, frame.pitch, -1);
  picture[std::size_t(row) * frame.columns + column] =
      static_cast<std::uint16_t>(escape_step_of_eights(x, y, frame.limit));
}

constexpr int limit_steps = 4096, limit_blocks_per_multiprocessor = 32, limit_threads = 256;

/// The arithmetic instructions of so many steps as independent multiply-adds: no branch, and no waiting for a result.
/// A step takes four, and a test three: a multiplication, a multiply-add and a comparison.
template <int steps_per_test>
__global__ void multiply_adds(float* out, float factor) {
  constexpr int instructions = 4 * steps_per_test + 3;
  float value[instructions];
  for (int k = 0; k < instructions; ++k) value[k] = static_cast<float>(threadIdx.x + k);
#pragma unroll(16 / steps_per_test)
  for (int step = 0; step < limit_steps; step += steps_per_test) {
    for (int k = 0; k < instructions; ++k) value[k] = fmaf(value[k], factor, 0.5F);
  }
  float sum = 0;
  for (int k = 0; k < instructions; ++k) sum += value[k];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/// How many steps the pixels of this picture have taken in all.
double steps_of(const Picture& picture, int limit) {
  return std::accumulate(picture.begin(), picture.end(), 0.0,
                         [&](double sum, int value) { return sum + std::min(value + 1, limit); });
}

Frame frame_of(int columns, int limit) { return {columns, columns * 2 / 3, limit, 3.0F / static_cast<float>(columns)}; }

}  // namespace

int main(int argc, char** argv) {
  int columns = 6144, limit = 1000, rounds = 21;
  cookbook::Options options("Measure the Mandelbrot set on the device and on the processor");
  options.add("columns", columns, "columns of the frame; it has two thirds as many rows", 96, 24'576);
  options.add("limit", limit, "steps after which a point counts as part of the set", 1, 10'000);
  options.add("rounds", rounds, "measurements of each row", 1, 1001);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const Frame frame = frame_of(columns, limit), small = frame_of(columns / 4, limit);
  const auto size_of = [](const Frame& f) { return static_cast<std::size_t>(f.columns) * f.rows; };
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const dim3 blocks((frame.columns + 31) / 32, (frame.rows + 7) / 8), block(32, 8);

  Picture expected(size_of(frame)), by_scalar(size_of(small)), by_simd(size_of(small));
  draw_by_tbb(frame, expected.data(), draw_simd, threads);
  gpu::DeviceArray<std::uint16_t> device(size_of(frame));
  cookbook::Checks checks;
  const auto check_kernel = [&](const std::string& what, auto* kernel) {
    device.poison();
    kernel<<<blocks, block>>>(frame, device.data());
    CUDA_CHECK(cudaGetLastError());
    checks.that(what, device.to_host() == expected);
  };
  check_kernel("lines, the same steps as on the processor", draw_lines);
  check_kernel("tiles, the same steps as on the processor", draw_tiles);
  check_kernel("tiles, eight steps per test, the same steps as on the processor", draw_tiles_of_eights);
  draw_by_tbb(small, by_scalar.data(), draw_scalar, threads);
  draw_by_tbb(small, by_simd.data(), draw_simd, threads);
  checks.that("processor, the same steps with and without vectors", by_scalar == by_simd);

  const int limit_blocks = gpu::multiprocessors() * limit_blocks_per_multiprocessor;
  gpu::DeviceArray<float> sums(static_cast<std::size_t>(limit_blocks) * limit_threads);
  const double all_steps = steps_of(expected, limit), small_steps = steps_of(by_simd, limit);
  const double steps_of_limit = static_cast<double>(sums.size()) * limit_steps;

  cookbook::Figures figures(fmt::format("{} x {} pixels, up to {} steps; processor: {} x {}", frame.columns, frame.rows,
                                        limit, small.columns, small.rows),
                            cookbook::rate("G steps/s", 1e9),
                            fmt::format("{}; {}", gpu::device(), cookbook::machine()));
  figures.measure(
      {gpu::timed_row("limit: 7 instructions per step", steps_of_limit,
                      [&] {
                        multiply_adds<1><<<limit_blocks, limit_threads>>>(sums.data(), 0.5F);
                        CUDA_CHECK(cudaGetLastError());
                      }),
       gpu::timed_row("limit: 35 per eight steps", steps_of_limit,
                      [&] {
                        multiply_adds<8><<<limit_blocks, limit_threads>>>(sums.data(), 0.5F);
                        CUDA_CHECK(cudaGetLastError());
                      }),
       gpu::timed_row("device, warps of 32 x 1 pixels", all_steps,
                      [&] {
                        draw_lines<<<blocks, block>>>(frame, device.data());
                        CUDA_CHECK(cudaGetLastError());
                      }),
       gpu::timed_row("device, warps of 8 x 4 pixels", all_steps,
                      [&] {
                        draw_tiles<<<blocks, block>>>(frame, device.data());
                        CUDA_CHECK(cudaGetLastError());
                      }),
       gpu::timed_row("the same, eight steps per test", all_steps,
                      [&] {
                        draw_tiles_of_eights<<<blocks, block>>>(frame, device.data());
                        CUDA_CHECK(cudaGetLastError());
                      }),
       {"oneTBB, SIMD, all threads", small_steps, [&] { draw_by_tbb(small, by_simd.data(), draw_simd, threads); }},
       {"oneTBB, SIMD, one thread", small_steps, [&] { draw_by_tbb(small, by_simd.data(), draw_simd, 1); }},
       {"oneTBB, no SIMD, all threads", small_steps,
        [&] { draw_by_tbb(small, by_scalar.data(), draw_scalar, threads); }}},
      rounds);
  figures.percent_of("limit: 7 instructions per step", "7 per step");
  figures.percent_of("limit: 35 per eight steps", "35 per eight");
  figures.speedup_over("oneTBB, SIMD, all threads", "oneTBB");
  figures.print(checks);
  return checks.exit_code();
}

// Mandelbrot set on a GPU
//
// Computes a picture of 1536 x 1024 pixels on the GPU, with grids of one block, of 64, of 512, and of one thread per
// pixel. Where there are fewer threads than pixels, each goes on from its first pixel in strides as wide and as high as
// the whole grid, so the same kernel is right for any grid. The program shows how long each grid takes, and beside it
// how many steps its slowest warp has to do: with few blocks the time follows from that. The processor computes the
// picture too, and every pixel must agree.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_mandelbrot/cuda_mandelbrot.cu common/cookbook/*.cpp -lpng -lfmt -o cuda_mandelbrot
// Run:     cuda_mandelbrot [--steps N] [--png FILE]

#include <algorithm>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "fastest.hpp"
#include "mandelbrot.hpp"
#include "write_png.hpp"

namespace {

using Picture = std::vector<unsigned char>;

__global__ void draw(unsigned char* picture, int steps) {
  const int columns_of_grid = gridDim.x * blockDim.x, rows_of_grid = gridDim.y * blockDim.y;
  for (int row = blockIdx.y * blockDim.y + threadIdx.y; row < height; row += rows_of_grid) {
    for (int column = blockIdx.x * blockDim.x + threadIdx.x; column < width; column += columns_of_grid) {
      picture[row * width + column] = pixel(column, row, steps);
    }
  }
}

struct Drawn {
  Picture picture;
  double seconds;  ///< of the fastest of five runs
};

Drawn draw_on_device(dim3 blocks, dim3 threads, int steps) {
  gpu::DeviceArray<unsigned char> picture(width * height);
  picture.poison();
  const auto work = [&] {
    draw<<<blocks, threads>>>(picture.data(), steps);
    CUDA_CHECK(cudaGetLastError());
  };
  const double seconds = fastest_alone(work, 5);
  return {picture.to_host(), seconds};
}

Picture draw_on_host(int steps) {
  Picture picture;
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) picture.push_back(pixel(column, row, steps));
  }
  return picture;
}

/// The steps of the warp that has most. The 32 threads of a warp have 32 pixels of a row at a time, and go on to the
/// next ones when the slowest of these is done.
int steps_of_slowest_warp(const Picture& picture, dim3 blocks, dim3 threads, int steps) {
  const int columns_of_grid = blocks.x * threads.x, rows_of_grid = blocks.y * threads.y;
  std::vector<int> warps(blocks.x * rows_of_grid);
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; column += 32) {
      const auto first = picture.begin() + row * width + column;
      const int slowest = std::min(*std::max_element(first, first + 32) + 1, steps);
      warps[row % rows_of_grid * blocks.x + column % columns_of_grid / 32] += slowest;
    }
  }
  return *std::max_element(warps.begin(), warps.end());
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 254;
  std::string png;
  cookbook::Options options("Draw the Mandelbrot set with a grid-stride loop");
  options.add("steps", steps, "steps after which a point counts as part of the set", 1, 254);
  options.add("png", png, "file for the picture; none is written by default");
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const Picture picture = draw_on_host(steps);

  cookbook::println("blocks of           pixels per   steps of the                 time per");
  cookbook::println("32 x 8 threads        thread     slowest warp        time   step of it");
  int same = 0;
  const dim3 threads(32, 8);
  for (const dim3 blocks : {dim3(1, 1), dim3(8, 8), dim3(32, 16), dim3(48, 128)}) {
    const Drawn drawn = draw_on_device(blocks, threads, steps);
    same += drawn.picture == picture;
    const int slowest = steps_of_slowest_warp(picture, blocks, threads, steps);
    cookbook::println("{:>14}   {:11}   {:14}   {:7.3f} ms   {:7.0f} ns", fmt::format("{} x {}", blocks.x, blocks.y),
                      width * height / (blocks.x * blocks.y * threads.x * threads.y), slowest, drawn.seconds * 1e3,
                      drawn.seconds * 1e9 / slowest);
  }

  cookbook::Checks checks;
  checks.equal("grids with the processor's picture", same, 4);
  if (!png.empty()) {
    Picture shades(picture.size());
    std::transform(picture.begin(), picture.end(), shades.begin(), [&](unsigned char value) {
      return static_cast<unsigned char>(value == steps ? 0 : 55 + 200 * value / steps);  // the set itself is black
    });
    write_png(png, shades, width);
  }
  return checks.exit_code();
}

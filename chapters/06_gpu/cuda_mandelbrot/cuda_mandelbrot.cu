// Mandelbrot set on a GPU
//
// Computes a picture of 1536 x 1024 pixels on the GPU. The grid has 131,072 threads, twelve times fewer than there are
// pixels, so each thread goes on from its first pixel in strides as wide and as high as the whole grid. The same kernel
// is right for one block and for thousands. The processor computes the picture too, and every pixel must agree.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_mandelbrot/cuda_mandelbrot.cu common/cookbook/*.cpp -lpng -lfmt -o cuda_mandelbrot
// Run:     cuda_mandelbrot [--steps N] [--png FILE]

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
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

Picture draw_on_device(dim3 blocks, int steps) {
  gpu::DeviceArray<unsigned char> picture(width * height);
  picture.poison();
  const dim3 threads(32, 8);  // per block
  draw<<<blocks, threads>>>(picture.data(), steps);
  CUDA_CHECK(cudaGetLastError());
  return picture.to_host();
}

Picture draw_on_host(int steps) {
  Picture picture;
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) picture.push_back(pixel(column, row, steps));
  }
  return picture;
}

int different(const Picture& a, const Picture& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0, std::plus<>(), std::not_equal_to<>());
}

/// Row 0 is the only one without a counterpart: rows 1 and 1023, 2 and 1022 and so on are equally far from the middle.
bool is_symmetric(const Picture& picture) {
  for (int row = 1; row < height / 2; ++row) {
    const auto upper = picture.begin() + row * width, lower = picture.begin() + (height - row) * width;
    if (!std::equal(upper, upper + width, lower)) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int steps = 20;
  std::string png;
  cookbook::Options options("Draw the Mandelbrot set with a grid-stride loop");
  options.add("steps", steps, "steps after which a point counts as part of the set", 1, 254);
  options.add("png", png, "file for the picture; none is written by default");
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const Picture picture = draw_on_device(dim3(32, 16), steps);
  cookbook::println("32 x 16 blocks of 32 x 8 threads for {} x {} pixels", width, height);

  cookbook::Checks checks;
  checks.equal("pixels that differ from the processor's", different(picture, draw_on_host(steps)), 0);
  checks.equal("pixels that differ with one block", different(picture, draw_on_device(dim3(1, 1), steps)), 0);
  checks.equal("pixels that differ with 48 x 128 blocks", different(picture, draw_on_device(dim3(48, 128), steps)), 0);
  checks.that("the lower half mirrors the upper half", is_symmetric(picture));
  if (steps == 20) {  // the sum that is known for this picture
    checks.equal("sum of all pixels", std::accumulate(picture.begin(), picture.end(), 0), 13'198'317);
  }

  if (!png.empty()) {
    Picture shades(picture.size());
    std::transform(picture.begin(), picture.end(), shades.begin(), [&](unsigned char value) {
      return static_cast<unsigned char>(value == steps ? 0 : 55 + 200 * value / steps);  // the set itself is black
    });
    write_png(png, shades, width);
  }
  return checks.exit_code();
}

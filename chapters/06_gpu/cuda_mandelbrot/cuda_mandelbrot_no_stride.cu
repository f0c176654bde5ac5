// Pitfall: a kernel without strides and a grid that is too small
//
// Each thread of this kernel computes one pixel. The grid of 32 x 16 blocks has a thread for 1024 x 128 pixels of the
// 1536 x 1024. No call fails; the other pixels are never written. This program has set them to 255 before, which is no
// possible value.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_mandelbrot/cuda_mandelbrot_no_stride.cu common/cookbook/*.cpp -lfmt -o cuda_mandelbrot_no_stride
// Run:     cuda_mandelbrot_no_stride
// Symptom: exit 1, prints "1441792 of 1572864 pixels were never written"

#include <algorithm>
#include <vector>

#include "cookbook/cuda.hpp"
#include "cookbook/print.hpp"
#include "mandelbrot.hpp"

__global__ void draw(unsigned char* picture) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column < width && row < height) picture[row * width + column] = pixel(column, row, 20);
}

int main() {
  if (!gpu::device_found()) return gpu::skipped;
  gpu::DeviceArray<unsigned char> device_picture(width * height);
  device_picture.poison();

  draw<<<dim3(32, 16), dim3(32, 8)>>>(device_picture.data());  // wrong: 48 x 128 blocks are needed
  CUDA_CHECK(cudaGetLastError());

  const std::vector<unsigned char> picture = device_picture.to_host();
  const auto unwritten = std::count(picture.begin(), picture.end(), 255);
  cookbook::println("{} of {} pixels were never written", unwritten, picture.size());
  return unwritten > 0 ? 1 : 0;
}

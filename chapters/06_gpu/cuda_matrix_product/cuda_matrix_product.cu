// Matrix product
//
// Multiplies two matrices on the GPU, one thread per element of the product, and on the processor. The program prints
// how long the GPU takes, with rows or columns from x, and how many elements of the processor's product are not the
// same: many, if it rounds each product before it adds it, and none, if it rounds once per term as the GPU does.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_matrix_product/cuda_matrix_product.cu common/cookbook/*.cpp -lfmt -o cuda_matrix_product
// Run:     cuda_matrix_product [--width N]

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "fastest.hpp"
#include "sequential_product.hpp"

namespace {

/// The two outer loops of the sequential form have become the thread's row and column. The threads of a warp have
/// neighbouring x; `row_from_x` says that these are rows.
template <bool row_from_x>
__global__ void product(const float* a, const float* b, float* c, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int row = row_from_x ? x : y, column = row_from_x ? y : x;
  if (row >= width || column >= width) return;
  float sum = 0;
  for (int k = 0; k < width; ++k) sum += a[row * width + k] * b[k * width + column];
  c[row * width + column] = sum;
}

using Kernel = void (*)(const float*, const float*, float*, int);

/// Runs the kernel ten times. `seconds` is set to the time of the fastest run, without copies.
Matrix product_on_device(Kernel kernel, const Matrix& a, const Matrix& b, int width, double& seconds) {
  const gpu::DeviceArray<float> device_a(a), device_b(b);
  gpu::DeviceArray<float> device_c(a.size());
  device_c.poison();  // so that an element which no thread writes is noticed
  const dim3 threads(16, 16);
  const dim3 blocks((width + threads.x - 1) / threads.x, (width + threads.y - 1) / threads.y);
  seconds = fastest_alone([&] {
    kernel<<<blocks, threads>>>(device_a.data(), device_b.data(), device_c.data(), width);
    CUDA_CHECK(cudaGetLastError());
  });
  return device_c.to_host();
}

}  // namespace

int main(int argc, char** argv) {
  int width = 500;
  cookbook::Options options("Multiply matrices on a GPU, one thread per element");
  options.add("width", width, "rows and columns of the matrices", 1, 2'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const Matrix a = gpu::random_numbers(1, width * width), b = gpu::random_numbers(2, width * width);
  double row_from_x = 0, column_from_x = 0;
  const Matrix with_row_from_x = product_on_device(product<true>, a, b, width, row_from_x);
  const Matrix with_column_from_x = product_on_device(product<false>, a, b, width, column_from_x);
  const Matrix rounded_twice = sequential_product(a, b, width, two_roundings);
  const Matrix rounded_once = sequential_product(a, b, width, one_rounding);
  cookbook::println("GPU, row from x and column from y   {:8.2f} ms", row_from_x * 1e3);
  cookbook::println("GPU, row from y and column from x   {:8.2f} ms", column_from_x * 1e3);
  cookbook::println("processor, two roundings per term   {:8} of {} elements differ",
                    different(rounded_twice, with_column_from_x), with_column_from_x.size());
  cookbook::println("processor, one rounding per term    {:8} of {} elements differ",
                    different(rounded_once, with_column_from_x), with_column_from_x.size());

  cookbook::Checks checks;
  checks.equal("elements that are not those of the processor with one rounding",
               different(with_column_from_x, rounded_once) + different(with_row_from_x, rounded_once), 0);
  return checks.exit_code();
}

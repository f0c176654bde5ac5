// Matrix product
//
// Multiplies two matrices on the GPU, one thread per element of the product, and on the processor. The program prints
// how long both take, and how many elements are not the same in the last digits: many, if the processor rounds each
// product before it adds it, and none, if it rounds once per term as the GPU does.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_matrix_product/cuda_matrix_product.cu common/cookbook/*.cpp -lfmt -o cuda_matrix_product
// Run:     cuda_matrix_product [--width N]

#include "book_matrices.hpp"
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

void print(const char* what, double seconds, const Matrix& c, const Matrix& by_gpu) {
  cookbook::println("{:<36}{:8.2f} ms{:10} elements differ", what, seconds * 1e3, different(c, by_gpu));
}

}  // namespace

int main(int argc, char** argv) {
  int width = 500;
  cookbook::Options options("Multiply matrices on a GPU, one thread per element");
  options.add("width", width, "rows and columns of the matrices", 1, 2'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const Matrix a = gpu::random_numbers(1, width * width), b = gpu::random_numbers(2, width * width);
  double by_rows = 0, by_columns = 0;
  const Matrix by_gpu = product_on_device(product<false>, a, b, width, by_rows);
  const Matrix exchanged = product_on_device(product<true>, a, b, width, by_columns);
  const cookbook::Stopwatch first;
  const Matrix rounded_twice = sequential_product(a, b, width, two_roundings);
  const double twice = first.seconds();
  const cookbook::Stopwatch second;
  const Matrix rounded_once = sequential_product(a, b, width, one_rounding);
  const double once = second.seconds();

  print("processor, two roundings per term", twice, rounded_twice, by_gpu);
  print("processor, one rounding per term", once, rounded_once, by_gpu);
  print("GPU, row from x and column from y", by_columns, exchanged, by_gpu);
  print("GPU, row from y and column from x", by_rows, by_gpu, by_gpu);

  // The matrices that the book prints.
  const Matrix c = product_on_device(product<false>, book_a, book_b, 5, by_rows);
  cookbook::Checks checks;
  checks.equal("5 x 5, elements that two roundings change",
               different(c, sequential_product(book_a, book_b, 5, two_roundings)), 6);
  checks.equal("elements that are not those of the processor with one rounding",
               different(c, sequential_product(book_a, book_b, 5, one_rounding)) + different(by_gpu, rounded_once) +
                   different(exchanged, rounded_once),
               0);
  return checks.exit_code();
}

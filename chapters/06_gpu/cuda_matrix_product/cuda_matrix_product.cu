// Matrix product
//
// Multiplies two matrices on the GPU, one thread per element of the product, and compares with the processor. The first
// two are 5 x 5. Six of the 25 elements are not quite those of the processor: the GPU multiplies and adds in one
// instruction, which rounds once where the processor rounds twice. With one rounding, the processor gets the same bits.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_matrix_product/cuda_matrix_product.cu common/cookbook/*.cpp -lfmt -o cuda_matrix_product
// Run:     cuda_matrix_product [--width N]

#include <algorithm>
#include <functional>

#include "book_matrices.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "sequential_product.hpp"

namespace {

/// The two outer loops of the sequential form have become the thread's row and column.
__global__ void product(const float* a, const float* b, float* c, int width) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= width || column >= width) return;
  float sum = 0;
  for (int k = 0; k < width; ++k) sum += a[row * width + k] * b[k * width + column];
  c[row * width + column] = sum;
}

Matrix product_on_device(const Matrix& a, const Matrix& b, int width) {
  const gpu::DeviceArray<float> device_a(a), device_b(b);
  gpu::DeviceArray<float> device_c(a.size());
  device_c.poison();  // so that an element which no thread writes is noticed
  const dim3 threads(16, 16);
  const dim3 blocks((width + threads.x - 1) / threads.x, (width + threads.y - 1) / threads.y);
  product<<<blocks, threads>>>(device_a.data(), device_b.data(), device_c.data(), width);
  CUDA_CHECK(cudaGetLastError());
  return device_c.to_host();
}

/// Prints 5 x 5 elements with all digits that a float has.
void print(std::string_view title, const Matrix& m) {
  cookbook::println("{}", title);
  for (int i = 0; i < 25; i += 5) {
    cookbook::println("{:16.9g}{:16.9g}{:16.9g}{:16.9g}{:16.9g}", m[i], m[i + 1], m[i + 2], m[i + 3], m[i + 4]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int width = 100;
  cookbook::Options options("Multiply matrices on a GPU, one thread per element");
  options.add("width", width, "rows and columns of the random matrices", 1, 1'000);
  options.parse(argc, argv);

  const Matrix rounded_twice = sequential_product(book_a, book_b, 5, two_roundings);
  const Matrix rounded_once = sequential_product(book_a, book_b, 5, one_rounding);
  cookbook::Checks checks;
  checks.equal("processor, elements of 25 that two roundings change", different(rounded_twice, rounded_once), 6);
  if (!gpu::device_found()) return gpu::without_device(checks);

  const Matrix c = product_on_device(book_a, book_b, 5);
  checks.equal("GPU, elements of 25 that differ from the processor's with two roundings", different(c, rounded_twice),
               6);
  checks.equal("GPU, elements of 25 that differ from the processor's with one rounding", different(c, rounded_once), 0);
  Matrix difference(25);
  std::transform(rounded_twice.begin(), rounded_twice.end(), c.begin(), difference.begin(), std::minus<>());
  print("product on the GPU:", c);
  print("processor with two roundings, minus GPU:", difference);

  const Matrix a = gpu::random_numbers(1, width * width), b = gpu::random_numbers(2, width * width);
  checks.equal(fmt::format("GPU, {} x {}, elements that differ from the processor's with one rounding", width, width),
               different(product_on_device(a, b, width), sequential_product(a, b, width, one_rounding)), 0);
  return checks.exit_code();
}

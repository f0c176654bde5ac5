// Tiled matrix product
//
// C = A B for n x n floats, in five steps, each in a header of its own: step1_naive.cuh to step5_async_copy.cuh. For
// each step the program prints how many loads a warp needs per multiply-add, how many operations per second the device
// can make at most with so many loads, and how many it makes, beside cuBLAS. All five steps have the bits of the
// processor's product.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_tiled_product/cuda_tiled_product.cu common/cookbook/*.cpp -lfmt -lcublas -o cuda_tiled_product
// Run:     cuda_tiled_product [--size N]

#include <algorithm>
#include <cmath>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "product_reference.cuh"
#include "steps.cuh"

namespace {

/// TFLOP/s if a multiprocessor did nothing but multiply-adds and their loads. In each cycle it begins at most four
/// instructions of warps, and at most one load. A multiply-add of a warp's 32 threads is 32 x 2 operations.
double at_most(double loads, double clock_hz) {
  const double cycles = std::max(loads, (1 + loads) / 4);  // per multiply-add
  return 32 * 2 / cycles * clock_hz * gpu::multiprocessors() * 1e-12;
}

/// How many of 1000 elements do not have the bits of the processor's product, which adds in the order of the device and
/// with its fused multiply-add, which rounds once.
int differ_from_processor(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c,
                          unsigned n) {
  int wrong = 0;
  for (unsigned sample = 0; sample < 1000; ++sample) {
    const std::size_t row = sample * 7919U % n, column = sample * 104'729U % n;
    float sum = 0;
    for (unsigned k = 0; k < n; ++k) sum = std::fma(a[row * n + k], b[k * n + column], sum);
    wrong += !(c[row * n + column] == sum);  // also where it is not a number
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int n = 4096;
  cookbook::Options options("Multiply matrices on a GPU, in five steps from simple to fast");
  options.add("size", n, "rows and columns of the matrices", 1, 8'192);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const std::size_t count = std::size_t(n) * n;
  const std::vector<float> a = gpu::random_numbers(1, count), b = gpu::random_numbers(2, count);
  const Matrix device_a(n, a), device_b(n, b);
  Matrix c(n);
  reference::Cublas cublas;
  const double library = reference::tflops(
      n, [&] { cublas.multiply(device_a.data(), device_b.data(), c.data(), n, c.stride(), CUDA_R_32F); }, 1);

  const double clock_hz = gpu::highest_clock();
  cookbook::println("{:<26}{:>24}{:>16}{:>16}{:>12}", "", "loads per multiply-add", "at most", "reached", "of cuBLAS");
  int wrong = 0, others = 0;
  std::vector<float> first;  // the product of step 1
  for (const Step& step : steps) {
    c.poison();
    const double tflops = reference::tflops(
        n, [&] { step.run(device_a, device_b, c); }, 1);
    cookbook::println("{:<26}{:24.2f}{:8.1f} TFLOP/s{:8.1f} TFLOP/s{:10.0f} %", step.name, step.loads,
                      at_most(step.loads, clock_hz), tflops, 100 * tflops / library);
    const std::vector<float> product = c.to_host();
    if (first.empty()) first = product;
    wrong += differ_from_processor(a, b, product, n);
    others += product != first;
  }
  cookbook::println("{:<66}{:8.1f} TFLOP/s{:10.0f} %", "cuBLAS", library, 100.0);

  cookbook::Checks checks;
  checks.equal("elements whose bits differ from the processor's, of 1000 per step", wrong, 0);
  checks.equal("steps with an element whose bits are not those of step 1", others, 0);
  return checks.exit_code();
}

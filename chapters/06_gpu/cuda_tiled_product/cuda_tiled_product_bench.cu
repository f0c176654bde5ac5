// Tiled matrix product, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_tiled_product/cuda_tiled_product_bench.cu common/cookbook/*.cpp -lfmt -lcublas -o cuda_tiled_product_bench
// Run:     cuda_tiled_product_bench [--largest N] [--rounds N]

#include <cmath>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "multiply_add.cuh"
#include "product_reference.cuh"
#include "steps.cuh"

namespace {

/// A random number at least -1 and below 1, or one of the whole numbers from -8 to 8.
__host__ __device__ float number(unsigned seed, unsigned index, bool whole) {
  const float random = gpu::random_number(seed, index);
  return whole ? rintf(8 * random) : random;
}

__global__ void fill(float* values, int n, int stride, unsigned seed, bool whole) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column < n) values[std::size_t(row) * stride + column] = number(seed, row * n + column, whole);
}

void fill_with_numbers(Matrix& matrix, unsigned seed, bool whole) {
  fill<<<dim3((matrix.n() + 255) / 256, matrix.n()), 256>>>(matrix.data(), matrix.n(), matrix.stride(), seed, whole);
  CUDA_CHECK(cudaGetLastError());
}

__global__ void count_far(const float* one, const float* other, int n, int stride, float bound, int* far) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const std::size_t i = std::size_t(blockIdx.y) * stride + column;
  if (column < n && !(fabsf(one[i] - other[i]) <= bound)) atomicAdd(far, 1);
}

/// How many elements of two matrices are farther apart than `bound`.
int far_apart(const Matrix& one, const Matrix& other, float bound) {
  gpu::DeviceArray<int> far(1);
  far.zero();
  count_far<<<dim3((one.n() + 255) / 256, one.n()), 256>>>(one.data(), other.data(), one.n(), one.stride(), bound,
                                                           far.data());
  CUDA_CHECK(cudaGetLastError());
  return far.to_host()[0];
}

/// How many of 1000 elements are farther than 1e-5 of the sum of the terms' magnitudes from the product in double
/// precision. It is exact for whole numbers, whose sums stay below 2^24.
int far_from_exact(const Matrix& c, bool whole) {
  const std::vector<float> actual = c.to_host();
  const unsigned n = c.n();
  int far = 0;
  for (unsigned sample = 0; sample < 1000; ++sample) {
    const unsigned row = sample * 7919U % n, column = sample * 104'729U % n;
    double exact = 0, magnitude = 0;
    for (unsigned k = 0; k < n; ++k) {
      const double term = double{number(1, row * n + k, whole)} * number(2, k * n + column, whole);
      exact += term;
      magnitude += std::abs(term);
    }
    far += !(std::abs(actual[std::size_t(row) * n + column] - exact) <= (whole ? 0 : 1e-5 * magnitude));
  }
  return far;
}

void measure(cookbook::Checks& checks, int n, int rounds) {
  Matrix a(n), b(n), c(n), library(n);
  reference::Cublas cublas;
  const auto by_cublas = [&] { cublas.multiply(a.data(), b.data(), library.data(), n, a.stride(), CUDA_R_32F); };
  for (const bool whole : {true, false}) {
    const char* numbers = whole ? "whole" : "random";
    fill_with_numbers(a, 1, whole);
    fill_with_numbers(b, 2, whole);
    library.poison();
    by_cublas();
    checks.equal(fmt::format("n = {}, {} numbers, cuBLAS, elements of 1000 that are not right", n, numbers),
                 far_from_exact(library, whole), 0);
    // The mean magnitude of a term of two random numbers is 1/4.
    const float bound = whole ? 0 : 1e-5F * static_cast<float>(n) / 4;
    for (const Step& step : steps) {
      c.poison();
      step.run(a, b, c);
      checks.equal(fmt::format("n = {}, {} numbers, {}, elements that are not cuBLAS's", n, numbers, step.name),
                   far_apart(c, library, bound), 0);
    }
  }

  const double operations = 2.0 * n * n * n;
  const double fma_operations = start_fma_loop(c.data());
  std::vector<cookbook::Benchmark> rows = {
      gpu::timed_row("multiply-add alone", fma_operations, [&] { start_fma_loop(c.data()); })};
  for (const Step& step : steps) rows.push_back(gpu::timed_row(step.name, operations, [&] { step.run(a, b, c); }));
  rows.push_back(gpu::timed_row("cublasSgemm", operations, by_cublas));
  cookbook::Figures figures(fmt::format("n = {}", n), cookbook::rate("TFLOP/s", 1e12), gpu::device());
  figures.measure(rows, rounds);
  figures.percent_of("multiply-add alone", "multiply-add");
  figures.speedup_over("cublasSgemm", "cuBLAS");
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int largest = 8192, rounds = 9;
  cookbook::Options options("The five steps beside the device's arithmetic and cuBLAS");
  options.add("largest", largest, "which of the sizes 1600, 4096 and 8192 are measured: those up to this", 1600, 8192);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  cookbook::Checks checks;
  for (const int n : {1600, 4096, 8192}) {
    if (n <= largest) measure(checks, n, rounds);
  }
  return checks.exit_code();
}

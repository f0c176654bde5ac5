// Hopper product, measured
//
// Compile: nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_hopper_product/cuda_hopper_product_bench.cu common/cookbook/*.cpp -lfmt -lcublas -o cuda_hopper_product_bench
// Run:     cuda_hopper_product_bench [--largest N] [--rounds N]

#include <cmath>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "product_reference.cuh"
#include "steps.cuh"

namespace {

/// The limit: nothing but products, two warp groups per multiprocessor, always with the same tiles. The tiles hold
/// random numbers, since the power that the tensor cores take, and so the clock, depends on the numbers.
__global__ void __launch_bounds__(256, 1) products_alone(const bfloat16* numbers, int tiles, float* never) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& stage = *reinterpret_cast<Stage<block_rows>*>(memory);
  bfloat16* const to = &stage.a[0][0];
  for (unsigned i = threadIdx.x; i < sizeof(stage) / sizeof(bfloat16); i += blockDim.x) to[i] = numbers[i];
  ptx::fence_proxy_async(ptx::space_shared);  // the tensor cores see what the threads have stored
  __syncthreads();
  Sums sums;
  for (int tile = 0; tile < tiles; ++tile) {
    start_products(sums, stage.a + threadIdx.x / 128 * group_rows, stage.b, tile == 0);
    wait_for_products<1>();
  }
  wait_for_products();
  float all = 0;
  for (const float sum : sums) all += sum;
  if (all == 1e30F) *never = all;  // is never true, but the compiler does not know that
}

/// Queues it, for 4096 tiles per warp group, and returns the number of floating-point operations.
double start_products_alone(const bfloat16* numbers, float* never) {
  constexpr int bytes = sizeof(Stage<block_rows>), tiles = 4096;
  CUDA_CHECK(cudaFuncSetAttribute(products_alone, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const int blocks = gpu::multiprocessors();
  products_alone<<<blocks, 256, bytes>>>(numbers, tiles, never);
  CUDA_CHECK(cudaGetLastError());
  return 2.0 * block_rows * tile_columns * depth * tiles * blocks;
}

/// How many of 1000 elements are farther than 1e-5 of the sum of the terms' magnitudes from the product in double
/// precision.
int far_from_exact(const gpu::DeviceArray<float>& c, unsigned n) {
  const std::vector<float> actual = c.to_host();
  const auto number = [](unsigned seed, unsigned index) {
    return double{__bfloat162float(__float2bfloat16(gpu::random_number(seed, index)))};
  };
  int far = 0;
  for (unsigned sample = 0; sample < 1000; ++sample) {
    const unsigned row = sample * 7919U % n, column = sample * 104'729U % n;
    double exact = 0, magnitude = 0;
    for (unsigned k = 0; k < n; ++k) {
      const double term = number(1, row * n + k) * number(2, k * n + column);
      exact += term;
      magnitude += std::abs(term);
    }
    far += !(std::abs(actual[std::size_t(row) * n + column] - exact) <= 1e-5 * magnitude);
  }
  return far;
}

void measure(cookbook::Checks& checks, reference::Cublas& cublas, int n, int rounds) {
  const std::size_t count = std::size_t(n) * n;
  gpu::DeviceArray<bfloat16> a(count), b(count);
  gpu::DeviceArray<float> c(count), expected(count);
  gpu::fill_random(a, 1);
  gpu::fill_random(b, 2);
  const auto library = [&](cudaStream_t stream) {
    cublas.multiply(a.data(), b.data(), expected.data(), n, n, CUDA_R_16BF, CUBLAS_COMPUTE_32F, stream);
  };

  expected.poison();
  library(nullptr);
  checks.equal(fmt::format("n = {}, cuBLAS, elements of 1000 that are far from the exact ones", n),
               far_from_exact(expected, n), 0);
  for (const Step& step : steps) {
    c.poison();
    step.run(a.data(), b.data(), c.data(), n, nullptr);
    checks.equal(fmt::format("n = {}, {}, elements that are far from cuBLAS's", n, step.name),
                 reference::far_apart(c, expected, reference::rounding_bound(n)), 0);
  }

  // Recorded and repeated, so that the host's part of a launch is not in the way of short products.
  const int repeats = n > 4096 ? 2 : 10;
  const double operations = 2.0 * n * n * n;
  const double alone = start_products_alone(a.data(), c.data());
  std::vector<cookbook::Benchmark> rows = {
      gpu::timed_row("wgmma alone", alone, [&] { start_products_alone(a.data(), c.data()); })};
  for (const Step& step : steps) {
    rows.push_back(gpu::graph_row(
        step.name, operations, [&](cudaStream_t stream) { step.run(a.data(), b.data(), c.data(), n, stream); },
        repeats));
  }
  rows.push_back(gpu::graph_row("cuBLAS", operations, library, repeats));
  cookbook::Figures figures(fmt::format("n = {}", n), cookbook::rate("TFLOP/s", 1e12), gpu::device());
  figures.measure(rows, rounds);
  figures.percent_of("wgmma alone", "wgmma");
  figures.percent_of("cuBLAS");
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int largest = 8192, rounds = 15;
  cookbook::Options options("The steps beside the tensor cores alone and cuBLAS");
  options.add("largest", largest, "which of the sizes 4096, 8192 and 16384 are measured: those up to this", 4096,
              16'384);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found() || !hopper_found()) return gpu::skipped;

  reference::Cublas cublas;
  cookbook::Checks checks;
  for (const int n : {4096, 8192, 16'384}) {
    if (n <= largest) measure(checks, cublas, n, rounds);
  }
  return checks.exit_code();
}

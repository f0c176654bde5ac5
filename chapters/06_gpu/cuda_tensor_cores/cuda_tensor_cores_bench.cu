// Tensor cores, measured
//
// Compile: nvcc -std=c++20 -O3 -arch=sm_80 -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_tensor_cores/cuda_tensor_cores_bench.cu common/cookbook/*.cpp -lfmt -lcublas -o cuda_tensor_cores_bench
// Run:     cuda_tensor_cores_bench [--largest N] [--rounds N]

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "product_reference.cuh"
#include "tensor_product.cuh"
#include "tiled_tensor_product.cuh"

namespace {

/// A random number at least -1 and at most 1, rounded to 8 binary digits.
__host__ __device__ bfloat16 number(unsigned seed, unsigned index) {
  return __float2bfloat16(gpu::random_number(seed, index));
}

/// The same numbers in both formats, so that all products are the same.
__global__ void fill(bfloat16* numbers, float* as_floats, unsigned count, unsigned seed) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  numbers[i] = number(seed, i);
  as_floats[i] = __bfloat162float(numbers[i]);
}

constexpr int mma_rounds = 4'000, mma_sums = 8, mma_warps = 8;

/// Nothing but mma_sync: eight independent sums per warp, so that none waits for another.
__global__ void mma_loop(const bfloat16* a, const bfloat16* b, int n, float* never) {
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::matrix_a, side, side, side, bfloat16, wmma::row_major> a_tile;
  wmma::fragment<wmma::matrix_b, side, side, side, bfloat16, wmma::row_major> b_tile;
  wmma::fragment<wmma::accumulator, side, side, side, float> sums[mma_sums];
  wmma::load_matrix_sync(a_tile, a, n);
  wmma::load_matrix_sync(b_tile, b, n);
#pragma unroll
  for (int i = 0; i < mma_sums; ++i) wmma::fill_fragment(sums[i], static_cast<float>(i));
#pragma unroll 1
  for (int round = 0; round < mma_rounds; ++round) {
#pragma unroll
    for (int i = 0; i < mma_sums; ++i) wmma::mma_sync(sums[i], a_tile, b_tile, sums[i]);
  }
  float all = 0;
#pragma unroll
  for (int i = 0; i < mma_sums; ++i) {
    for (int j = 0; j < sums[i].num_elements; ++j) all += sums[i].x[j];
  }
  if (all == 1e30F) *never = all;  // is never true, but the compiler does not know that
}

/// Starts mma_loop() on the whole device and returns its number of floating-point operations.
double start_mma_loop(const bfloat16* a, const bfloat16* b, int n, float* never) {
  const int blocks = 2 * gpu::multiprocessors();
  mma_loop<<<blocks, 32 * mma_warps>>>(a, b, n, never);
  CUDA_CHECK(cudaGetLastError());
  return 2.0 * side * side * side * mma_sums * mma_rounds * mma_warps * blocks;
}

void measure(cookbook::Checks& checks, reference::Cublas& cublas, int n, int rounds) {
  const unsigned count = n * n;
  gpu::DeviceArray<bfloat16> a(count), b(count);
  gpu::DeviceArray<float> float_a(count), float_b(count), c(count), library(count);
  fill<<<(count + 255) / 256, 256>>>(a.data(), float_a.data(), count, 1);
  CUDA_CHECK(cudaGetLastError());
  fill<<<(count + 255) / 256, 256>>>(b.data(), float_b.data(), count, 2);
  CUDA_CHECK(cudaGetLastError());

  const auto by_cublas = [&](const void* left, const void* right, cudaDataType type, cublasComputeType_t compute) {
    cublas.multiply(left, right, library.data(), n, n, type, compute);
  };
  struct Way {
    std::string name;
    gpu::DeviceArray<float>* result;
    std::function<void()> run;
  };
  const std::vector<Way> ways = {
      {"cuBLAS, bfloat16", &library, [&] { by_cublas(a.data(), b.data(), CUDA_R_16BF, CUBLAS_COMPUTE_32F); }},
      {"one tile per warp", &c,
       [&] {
         tensor_product<<<dim3(n / side, n / side), 32>>>(a.data(), b.data(), c.data(), n);
         CUDA_CHECK(cudaGetLastError());
       }},
      {"4 x 4 tiles per warp", &c,
       [&] {
         constexpr int tiles = 4;
         const dim3 blocks(n / side / tiles, n / side / tiles);
         product_of_many_tiles<tiles><<<blocks, 32>>>(a.data(), b.data(), c.data(), n);
         CUDA_CHECK(cudaGetLastError());
       }},
      {"8 x 8 tiles per block", &c, [&] { wmma_tiles::start_product(a.data(), b.data(), c.data(), n); }},
      {"cuBLAS, TF32", &library,
       [&] { by_cublas(float_a.data(), float_b.data(), CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32); }},
      {"cuBLAS, float", &library, [&] { by_cublas(float_a.data(), float_b.data(), CUDA_R_32F, CUBLAS_COMPUTE_32F); }}};

  // All against the first, which is compared with 1000 elements in double precision.
  gpu::DeviceArray<float> first(count);
  for (const Way& way : ways) {
    way.result->poison();
    way.run();
    if (&way == &ways.front()) {
      CUDA_CHECK(cudaMemcpy(first.data(), way.result->data(), count * sizeof(float), cudaMemcpyDeviceToDevice));
      const std::vector<float> actual = first.to_host();
      int far = 0;
      for (unsigned sample = 0; sample < 1000; ++sample) {
        const unsigned row = sample * 7919U % n, column = sample * 104'729U % n;
        double exact = 0, magnitude = 0;
        for (int k = 0; k < n; ++k) {
          const double term =
              double{__bfloat162float(number(1, row * n + k))} * __bfloat162float(number(2, k * n + column));
          exact += term;
          magnitude += std::abs(term);
        }
        far += !(std::abs(actual[row * n + column] - exact) <= 1e-5 * magnitude);
      }
      checks.equal(fmt::format("n = {}, {}, elements of 1000 that are far from the exact ones", n, way.name), far, 0);
    } else {
      checks.equal(fmt::format("n = {}, {}, elements that are far from cuBLAS's", n, way.name),
                   reference::far_apart(*way.result, first, reference::rounding_bound(n)), 0);
    }
  }

  const double operations = 2.0 * n * n * n;
  const double mma_operations = start_mma_loop(a.data(), b.data(), n, c.data());
  std::vector<cookbook::Benchmark> rows = {
      gpu::timed_row("mma_sync alone", mma_operations, [&] { start_mma_loop(a.data(), b.data(), n, c.data()); })};
  for (const Way& way : ways) rows.push_back(gpu::timed_row(way.name, operations, way.run));
  cookbook::Figures figures(fmt::format("n = {}", n), cookbook::rate("TFLOP/s", 1e12), gpu::device());
  figures.measure(rows, rounds);
  figures.percent_of("mma_sync alone", "mma_sync");
  figures.speedup_over("cuBLAS, bfloat16", "cuBLAS");
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int largest = 8192, rounds = 9;
  cookbook::Options options("Tensor cores: by hand and by cuBLAS");
  options.add("largest", largest, "which of the sizes 4096, 8192 and 16384 are measured: those up to this", 4096,
              16384);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  reference::Cublas cublas;
  cookbook::Checks checks;
  for (const int n : {4096, 8192, 16384}) {
    if (n <= largest) measure(checks, cublas, n, rounds);
  }
  return checks.exit_code();
}

// Tensor cores
//
// A tensor core multiplies whole tiles of matrices: one call of a warp multiplies two tiles of 16 x 16 and adds the
// product to a third. The factors have few digits: a bfloat16 has 8 binary digits, a float 24. The program multiplies
// the same matrices in six ways. Of the library's three it prints how large the errors are; of the three written by
// hand, how many bytes per operation they load from the device's memory or its caches.
//
// Compile: nvcc -std=c++20 -O3 -arch=sm_80 -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_tensor_cores/cuda_tensor_cores.cu common/cookbook/*.cpp -lfmt -lcublas -o cuda_tensor_cores
// Run:     cuda_tensor_cores [--size N]

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "product_reference.cuh"
#include "tensor_product.cuh"
#include "tiled_tensor_product.cuh"

namespace {

/// The matrices: random numbers, or whole ones from -8 to 8, which eight binary digits hold exactly.
__host__ __device__ float number(unsigned seed, unsigned index, bool whole) {
  const float random = gpu::random_number(seed, index);
  return whole ? rintf(8 * random) : random;
}

__global__ void fill(float* numbers, bfloat16* rounded, unsigned count, unsigned seed, bool whole) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  numbers[i] = number(seed, i, whole);
  rounded[i] = __float2bfloat16(numbers[i]);
}

/// The errors of 1000 elements against the product in double precision, as a share of these elements (both as root mean
/// squares). `rounded`: against the product of the factors that have been rounded to bfloat16.
double error(const gpu::DeviceArray<float>& c, unsigned n, bool rounded) {
  const std::vector<float> actual = c.to_host();
  const auto factor = [&](unsigned seed, unsigned index) -> double {
    const float x = number(seed, index, false);
    return rounded ? __bfloat162float(__float2bfloat16(x)) : x;
  };
  double squares = 0, errors = 0;
  for (unsigned sample = 0; sample < 1000; ++sample) {
    const unsigned row = sample * 7919U % n, column = sample * 104'729U % n;
    double exact = 0;
    for (unsigned k = 0; k < n; ++k) exact += factor(1, row * n + k) * factor(2, k * n + column);
    squares += exact * exact;
    errors += std::pow(actual[std::size_t(row) * n + column] - exact, 2);
  }
  return std::sqrt(errors / squares);
}

}  // namespace

int main(int argc, char** argv) {
  int n = 4096;
  cookbook::Options options("Multiply matrices on the tensor cores");
  options.add("size", n, "rows and columns of the matrices; rounded up to a multiple of 128", 1, 8'192);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  n = (n + 127) / 128 * 128;

  const std::size_t count = std::size_t(n) * n;
  gpu::DeviceArray<float> a(count), b(count), c(count), expected(count);
  gpu::DeviceArray<bfloat16> short_a(count), short_b(count);
  const auto fill_both = [&](bool whole) {
    const unsigned blocks = static_cast<unsigned>(count / 256);
    fill<<<blocks, 256>>>(a.data(), short_a.data(), static_cast<unsigned>(count), 1, whole);
    CUDA_CHECK(cudaGetLastError());
    fill<<<blocks, 256>>>(b.data(), short_b.data(), static_cast<unsigned>(count), 2, whole);
    CUDA_CHECK(cudaGetLastError());
  };
  reference::Cublas cublas;
  const auto by_cublas = [&](cublasComputeType_t compute) {
    cublas.multiply(a.data(), b.data(), c.data(), n, n, CUDA_R_32F, compute);
  };
  // Bytes that are loaded per 1000 operations: a call of mma_sync makes 2 * 16^3 of them, with tiles of 16 x 16 x 2
  // bytes. A warp with t x t tiles loads 2 t for t x t calls, a block with 8 x 8 tiles in shared memory 16 for 64.
  const auto bytes = [](int loads, int calls) {
    return 1000.0 * 2 * side * side * loads / (2.0 * side * side * side * calls);
  };
  struct Way {
    std::string name;
    double loaded;  ///< 0: by the library
    bool rounds;    ///< the factors to bfloat16
    std::function<void()> run;
  };
  const Way ways[] = {{"cuBLAS, float", 0, false, [&] { by_cublas(CUBLAS_COMPUTE_32F); }},
                      {"cuBLAS, TF32", 0, false, [&] { by_cublas(CUBLAS_COMPUTE_32F_FAST_TF32); }},
                      {"cuBLAS, bfloat16", 0, true,
                       [&] { cublas.multiply(short_a.data(), short_b.data(), c.data(), n, n, CUDA_R_16BF); }},
                      {"bfloat16, one tile per warp", bytes(2, 1), true,
                       [&] {
                         tensor_product<<<dim3(n / side, n / side), 32>>>(short_a.data(), short_b.data(), c.data(), n);
                         CUDA_CHECK(cudaGetLastError());
                       }},
                      {"bfloat16, 4 x 4 tiles per warp", bytes(8, 16), true,
                       [&] {
                         constexpr int tiles = 4;
                         const dim3 blocks(n / side / tiles, n / side / tiles);
                         product_of_many_tiles<tiles><<<blocks, 32>>>(short_a.data(), short_b.data(), c.data(), n);
                         CUDA_CHECK(cudaGetLastError());
                       }},
                      {"bfloat16, 8 x 8 tiles per block", bytes(16, 64), true,
                       [&] { wmma_tiles::start_product(short_a.data(), short_b.data(), c.data(), n); }}};

  int inexact_sums = 0, inexact = 0;
  double first = 0;
  for (const Way& way : ways) {
    fill_both(false);
    c.poison();
    const double tflops = reference::tflops(n, way.run);
    if (first == 0) first = tflops;
    const std::string note = way.loaded == 0 ? fmt::format("error {:7.5f} %", 100 * error(c, n, false))
                                             : fmt::format("loads {:3.0f} bytes per 1000 operations", way.loaded);
    cookbook::println("{:<32}{:6.1f} TFLOP/s {:6.1f} x   {}", way.name, tflops, tflops / first, note);
    if (way.rounds) inexact_sums += !(error(c, n, true) < 2e-5);

    fill_both(true);
    cublas.multiply(a.data(), b.data(), expected.data(), n, n, CUDA_R_32F);
    c.poison();
    way.run();
    inexact += reference::far_apart(c, expected, 0) > 0;
  }
  cookbook::Checks checks;
  checks.equal("products of whole numbers with an element other than that of cuBLAS, float", inexact, 0);
  checks.equal("bfloat16, products of the rounded factors with an error above 0.002 %", inexact_sums, 0);
  return checks.exit_code();
}

// Tiled matrix product
//
// C = A B for n x n floats, in five steps, each in a header of its own. All have the bits of the processor's product.
//   1. step1_naive.cuh: each thread computes one element, and loads two numbers from global memory per multiplication.
//   2. step2_shared_tile.cuh: a block loads a tile of A and a tile of B once, and all its threads use them.
//   3. step3_register_block.cuh: a thread keeps 24 numbers in registers for 128 multiplications.
//   4. step4_vector_loads.cuh: one instruction loads four numbers.
//   5. step5_async_copy.cuh: the next tile is copied while the threads compute, so that threads hardly wait for it.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_tiled_product/cuda_tiled_product.cu common/cookbook/*.cpp -lfmt -o cuda_tiled_product
// Run:     cuda_tiled_product [--size N]

#include <cmath>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "steps.cuh"

namespace {

using Values = std::vector<float>;

/// Multiplies on the processor, in the order of the device and with its fused multiply-add, which rounds once. Counts
/// in `far` the elements whose error, against the product in double precision, is above 1e-5 of the sum of the terms'
/// magnitudes.
Values product_on_host(const Values& a, const Values& b, int n, int& far) {
  Values c(a.size());
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      double exact = 0, magnitude = 0;
      for (int k = 0; k < n; ++k) {
        const float x = a[std::size_t(row) * n + k], y = b[std::size_t(k) * n + column];
        sum = std::fma(x, y, sum);
        exact += double{x} * y;
        magnitude += std::abs(double{x} * y);
      }
      c[std::size_t(row) * n + column] = sum;
      far += !(std::abs(sum - exact) <= 1e-5 * magnitude);
    }
  }
  return c;
}

/// How many elements of a step's product are not the expected ones.
int wrong_elements(const Step& step, const Values& a, const Values& b, const Values& expected, int n) {
  const Matrix device_a(n, a), device_b(n, b);
  Matrix device_c(n);
  device_c.poison();
  step.run(device_a, device_b, device_c);
  const Values actual = device_c.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) wrong += !(actual[i] == expected[i]);  // a NaN is wrong, too
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int n = 259;  // not a multiple of any tile's side
  cookbook::Options options("Multiply matrices on a GPU, in five steps from simple to fast");
  options.add("size", n, "rows and columns of the matrices", 1, 1'024);
  options.parse(argc, argv);

  cookbook::Checks checks;
  int far = 0;
  const Values a = gpu::random_numbers(1, n * n), b = gpu::random_numbers(2, n * n), c = product_on_host(a, b, n, far);
  checks.equal("processor, elements that are far from the exact ones", far, 0);
  if (!gpu::device_found()) return gpu::without_device(checks);

  Values identity(a.size());
  for (int i = 0; i < n; ++i) identity[std::size_t(i) * n + i] = 1;
  int wrong = 0;
  for (const Step& step : steps) {
    cookbook::println("{}: {}", step.name, step.change);
    checks.equal(fmt::format("{}, elements of {} that are wrong", step.name, c.size()),
                 wrong_elements(step, a, b, c, n), 0);
    wrong += wrong_elements(step, identity, a, a, n);
  }
  checks.equal("identity times A, elements that are not those of A, all steps", wrong, 0);
  return checks.exit_code();
}

// Tensor cores
//
// A tensor core multiplies whole tiles of matrices: one call of a warp multiplies two tiles of 16 x 16 and adds the
// product to a third. The factors have few digits: a bfloat16 has 8 binary digits, a float 24. The sums are floats.
// The program shows what that means: the sums are right, and nearly all that is lost is lost when the factors are
// rounded.
//
// Compile: nvcc -std=c++20 -O3 -arch=native -Icommon chapters/06_gpu/cuda_tensor_cores/cuda_tensor_cores.cu common/cookbook/*.cpp -lfmt -o cuda_tensor_cores
// Run:     cuda_tensor_cores [--tiles N]

#include <algorithm>
#include <cmath>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/options.hpp"
#include "tensor_product.cuh"

namespace {

using Values = std::vector<float>;

/// The nearest numbers that have 8 binary digits.
std::vector<bfloat16> shortened(const Values& values) {
  std::vector<bfloat16> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), [](float x) { return __float2bfloat16(x); });
  return result;
}

Values as_floats(const std::vector<bfloat16>& values) {
  Values result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), [](bfloat16 x) { return __bfloat162float(x); });
  return result;
}

Values product_on_device(const std::vector<bfloat16>& a, const std::vector<bfloat16>& b, int n) {
  const gpu::DeviceArray<bfloat16> device_a(a), device_b(b);
  gpu::DeviceArray<float> device_c(a.size());
  device_c.poison();
  tensor_product<<<dim3(n / side, n / side), 32>>>(device_a.data(), device_b.data(), device_c.data(), n);
  CUDA_CHECK(cudaGetLastError());
  return device_c.to_host();
}

/// How many elements of c are farther from the product a * b in double precision than `bound` times the sum of the
/// terms' magnitudes.
int far_elements(const Values& c, const Values& a, const Values& b, int n, double bound) {
  int far = 0;
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      double exact = 0, magnitude = 0;
      for (int k = 0; k < n; ++k) {
        const double term = double{a[row * n + k]} * b[k * n + column];
        exact += term;
        magnitude += std::abs(term);
      }
      far += !(std::abs(c[row * n + column] - exact) <= bound * magnitude);
    }
  }
  return far;
}

}  // namespace

int main(int argc, char** argv) {
  int tiles = 16;
  cookbook::Options options("Multiply matrices on the tensor cores");
  options.add("tiles", tiles, "rows and columns of the matrices, in tiles of 16", 1, 32);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  const int n = side * tiles;

  const Values a = gpu::random_numbers(1, n * n), b = gpu::random_numbers(2, n * n);
  const std::vector<bfloat16> short_a = shortened(a), short_b = shortened(b);
  const Values c = product_on_device(short_a, short_b, n);
  const int sums_are_far = far_elements(c, as_floats(short_a), as_floats(short_b), n, 1e-5);
  const int result_is_far = far_elements(c, a, b, n, 1e-5);

  Values whole_a = a, whole_b = b;  // whole numbers from -8 to 8, which a bfloat16 holds exactly
  for (Values* values : {&whole_a, &whole_b}) {
    for (float& x : *values) x = std::round(8 * x);
  }
  const Values whole_c = product_on_device(shortened(whole_a), shortened(whole_b), n);

  cookbook::Checks checks;
  checks.equal("whole numbers, wrong elements", far_elements(whole_c, whole_a, whole_b, n, 0), 0);
  checks.equal("elements that are far from the product of the rounded factors", sums_are_far, 0);
  checks.that("most elements are far from the product of the factors themselves", result_is_far > n * n / 2);
  // Rounding changes each factor by up to 1/256 of its value, so a term by up to 2/256 and a little.
  checks.equal("elements farther from the product of the factors themselves than two roundings allow",
               far_elements(c, a, b, n, 0.008), 0);
  return checks.exit_code();
}

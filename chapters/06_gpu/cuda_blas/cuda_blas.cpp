// Matrix product by cuBLAS
//
// A library call multiplies matrices on the GPU. No kernel of our own is needed, so this is ordinary C++, which nvcc
// only passes on to the host's compiler. The call computes alpha * A * B + beta * C. It expects matrices that are
// stored column by column, as in Fortran; here they are stored row by row, as in most C++ programs, and still none has
// to be transposed.
//
// Compile: nvcc -std=c++20 -O3 -Icommon chapters/06_gpu/cuda_blas/cuda_blas.cpp common/cookbook/*.cpp -lcublas -lfmt -o cuda_blas
// Run:     cuda_blas [--rows N] [--inner N] [--columns N]

#include <algorithm>
#include <cmath>
#include <limits>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "gemm.hpp"

namespace {

Matrix filled(int rows, int columns, double value) {
  return {rows, columns, std::vector<double>(rows * columns, value)};
}

bool near(const Matrix& x, const Matrix& y, double tolerance) {
  return std::equal(x.values.begin(), x.values.end(), y.values.begin(),
                    [&](double p, double q) { return std::abs(p - q) <= tolerance; });
}

}  // namespace

int main(int argc, char** argv) {
  int rows = 10, inner = 10, columns = 10;
  cookbook::Options options("Multiply matrices with cuBLAS");
  options.add("rows", rows, "rows of A and of the product", 1, 1'000);
  options.add("inner", inner, "columns of A, which are the rows of B", 1, 1'000);
  options.add("columns", columns, "columns of B and of the product", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  const Matrix a{rows, inner, gpu::random_numbers<double>(1, rows * inner)};
  const Matrix b{inner, columns, gpu::random_numbers<double>(2, inner * columns)};
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  const double tolerance = 1e-14 * inner;  // the sums are rounded in another order
  Blas blas;
  cookbook::Checks checks;

  Matrix product = filled(rows, columns, not_a_number), expected = product;
  blas.multiply(1, a, b, 0, product);  // beta = 0: the old elements are overwritten, even if they are no numbers
  multiply_on_host(1, a, b, 0, expected);
  checks.that("A * B is the processor's product", near(product, expected, tolerance));

  Matrix sum = filled(rows, columns, 1), expected_sum = sum;
  blas.multiply(2, a, b, 3, sum);
  multiply_on_host(2, a, b, 3, expected_sum);
  checks.that("2 * A * B + 3 * C, C all ones, is the processor's", near(sum, expected_sum, 2 * tolerance));

  Matrix unchanged = product;
  blas.multiply(0, a, b, 1, unchanged);
  checks.that("0 * A * B + 1 * C is C", unchanged.values == product.values);
  return checks.exit_code();
}

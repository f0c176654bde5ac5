// Matrix product by cuBLAS
//
// One call of a library multiplies matrices on the GPU. No kernel of our own is needed, so this is ordinary C++, which
// nvcc only passes on to the host's compiler. The program multiplies matrices of several sizes by three loops on the
// processor, by cuBLAS with copies to the device and back, and by cuBLAS with matrices that are there already. It
// prints how long each takes, and how many times as fast as the loops cuBLAS is. cuBLAS expects matrices that are
// stored column by column, as in Fortran; here they are stored row by row, as in most C++ programs, and still none has
// to be transposed: gemm.hpp.
//
// Compile: nvcc -std=c++20 -O3 -Icommon -Ichapters/06_gpu chapters/06_gpu/cuda_blas/cuda_blas.cpp common/cookbook/*.cpp -lcublas -lfmt -o cuda_blas
// Run:     cuda_blas [--largest N]

#include <algorithm>
#include <cmath>
#include <limits>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "fastest.hpp"
#include "gemm.hpp"

namespace {

/// The shortest of three calls of `work`, in microseconds.
template <typename Work>
double microseconds(Work work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) {
    const cookbook::Stopwatch watch;
    work();
    best = std::min(best, watch.seconds() * 1e6);
  }
  return best;
}

void copy(double* to, const double* from, std::size_t elements, cudaMemcpyKind way) {
  CUDA_CHECK(cudaMemcpy(to, from, elements * sizeof(double), way));
}

/// How many elements are not near those of `expected`: sums of n products, rounded in another order. Counts a NaN.
int wrong_elements(const std::vector<double>& values, const Matrix& expected, int n) {
  int wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) wrong += !(std::abs(values[i] - expected.values[i]) <= 1e-14 * n);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int largest = 1'000;
  cookbook::Options options("Multiply matrices with cuBLAS");
  options.add("largest", largest, "rows and columns of the largest matrices", 1, 3'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;

  Blas blas;
  int wrong = 0;
  cookbook::println("{:>14}{:>15}{:>25}{:>33}", "", "three loops", "cuBLAS, with copies", "cuBLAS, on the device");
  for (const int n : {largest / 100, largest / 30, largest / 10, largest / 3, largest}) {
    if (n == 0) continue;
    const Matrix a{n, n, gpu::random_numbers<double>(1, n * n)}, b{n, n, gpu::random_numbers<double>(2, n * n)};
    const double not_a_number = std::numeric_limits<double>::quiet_NaN();
    Matrix expected{n, n, std::vector<double>(n * n, not_a_number)}, product = expected;
    const double loops = microseconds([&] { multiply_on_host(1, a, b, 0, expected); });

    const std::size_t elements = a.values.size();
    gpu::DeviceArray<double> device_a(elements), device_b(elements), device_product(elements);
    const auto multiply = [&] {
      blas.multiply(1, {n, n, device_a.data()}, {n, n, device_b.data()}, 0, {n, n, device_product.data()});
    };
    const double with_copies = microseconds([&] {
      copy(device_a.data(), a.values.data(), elements, cudaMemcpyHostToDevice);
      copy(device_b.data(), b.values.data(), elements, cudaMemcpyHostToDevice);
      multiply();
      copy(product.values.data(), device_product.data(), elements, cudaMemcpyDeviceToHost);
    });
    wrong += wrong_elements(product.values, expected, n);

    device_product.poison();
    const double on_device = 1e6 * fastest(multiply);
    wrong += wrong_elements(device_product.to_host(), expected, n);
    cookbook::println("{:>9} rows{:12.1f} us{:12.1f} us{:8.2f} x{:16.1f} us{:12.2f} x", n, loops, with_copies,
                      loops / with_copies, on_device, loops / on_device);
  }

  cookbook::Checks checks;
  checks.equal("elements that differ from the loops'", wrong, 0);
  return checks.exit_code();
}

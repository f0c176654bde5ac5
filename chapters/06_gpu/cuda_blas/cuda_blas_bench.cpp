// Matrix product by cuBLAS, measured: from which size on does the GPU win?
//
// Compile: nvcc -std=c++20 -O3 -Icommon chapters/06_gpu/cuda_blas/cuda_blas_bench.cpp common/cookbook/*.cpp -lcublas -lopenblas -lfmt -o cuda_blas_bench
// Run:     cuda_blas_bench [--largest N] [--rounds N]

#include <cblas.h>

#include <cmath>

#include "cookbook/checks.hpp"
#include "cookbook/cuda.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "gemm.hpp"

namespace {

/// How many elements of `x` are not near those of `expected`: sums of n products, rounded in another order.
std::size_t wrong_elements(const std::vector<double>& x, const Matrix& expected) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    wrong += !(std::abs(x[i] - expected.values[i]) <= 1e-14 * expected.rows);
  }
  return wrong;
}

/// The product of two matrices of n rows and columns on the device, whose memory is allocated beforehand.
class DeviceProduct {
 public:
  DeviceProduct(const Matrix& a, const Matrix& b)
      : n_(a.rows), a_(a.values), b_(b.values), c_(a.values.size()), workspace_(std::size_t{32} << 20) {
    CUBLAS_CHECK(cublasCreate(&handle_));
    c_.poison();
  }
  ~DeviceProduct() { cublasDestroy(handle_); }
  DeviceProduct(const DeviceProduct&) = delete;
  DeviceProduct& operator=(const DeviceProduct&) = delete;

  void multiply(cudaStream_t stream) {
    const double one = 1, zero = 0;
    CUBLAS_CHECK(cublasSetStream(handle_, stream));
    // Memory of our own, because cuBLAS must not allocate any while a graph is recorded.
    CUBLAS_CHECK(cublasSetWorkspace(handle_, workspace_.data(), workspace_.size()));
    CUBLAS_CHECK(cublasDgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n_, n_, n_, &one, b_.data(), n_, a_.data(), n_, &zero,
                             c_.data(), n_));
  }

  /// Copies both factors to the device, multiplies, and copies the product to `c`.
  void multiply_with_copies(const Matrix& a, const Matrix& b, std::vector<double>& c) {
    const std::size_t bytes = c_.size() * sizeof(double);
    CUDA_CHECK(cudaMemcpy(a_.data(), a.values.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(b_.data(), b.values.data(), bytes, cudaMemcpyHostToDevice));
    multiply(nullptr);
    CUDA_CHECK(cudaMemcpy(c.data(), c_.data(), bytes, cudaMemcpyDeviceToHost));
  }

  std::vector<double> product() const { return c_.to_host(); }

 private:
  int n_;
  gpu::DeviceArray<double> a_, b_, c_;
  gpu::DeviceArray<char> workspace_;
  cublasHandle_t handle_ = nullptr;
};

void compare(cookbook::Checks& checks, int n, int rounds) {
  const double not_a_number = std::nan("");
  const std::size_t elements = static_cast<std::size_t>(n) * n;
  const Matrix a{n, n, gpu::random_numbers<double>(1, elements)}, b{n, n, gpu::random_numbers<double>(2, elements)};
  Matrix by_openblas = a, by_loop = a;
  std::vector<double> with_copies(a.values.size(), not_a_number);
  by_openblas.values.assign(a.values.size(), not_a_number);
  DeviceProduct device(a, b);

  const double operations = 2.0 * n * n * n;
  std::vector<cookbook::Benchmark> rows = {
      {"OpenBLAS", operations,
       [&] {
         cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.values.data(), n, b.values.data(), n, 0,
                     by_openblas.values.data(), n);
       }},
      {"cuBLAS, with copies", operations, [&] { device.multiply_with_copies(a, b, with_copies); }},
      gpu::graph_row(
          "cuBLAS, data on the device", operations, [&](cudaStream_t stream) { device.multiply(stream); },
          n <= 1'000 ? 20 : 1)};
  const bool loop_too = n <= 1'000;
  if (loop_too) {
    rows.insert(rows.begin(), {"three loops, one core", operations, [&] { multiply_on_host(1, a, b, 0, by_loop); }});
  }
  cookbook::Figures figures(fmt::format("product of {} x {} doubles", n, n), cookbook::rate("GFLOP/s", 1e9),
                            gpu::device());
  figures.measure(rows, rounds);
  figures.speedup_over("OpenBLAS");

  const Matrix& expected = loop_too ? by_loop : by_openblas;
  const std::string of_size = fmt::format("wrong elements of {} x {}, ", n, n);
  checks.equal(of_size + "OpenBLAS", wrong_elements(by_openblas.values, expected), 0U);
  checks.equal(of_size + "cuBLAS with copies", wrong_elements(with_copies, expected), 0U);
  checks.equal(of_size + "cuBLAS on the device", wrong_elements(device.product(), expected), 0U);
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int largest = 8'192, rounds = 5;
  cookbook::Options options("From which size on a GPU multiplies matrices faster than the processor");
  options.add("largest", largest, "rows of the largest matrices", 10, 8'192);
  options.add("rounds", rounds, "measured runs of each way", 1, 1'000);
  options.parse(argc, argv);
  if (!gpu::device_found()) return gpu::skipped;
  cookbook::require_memory(5.0 * largest * largest * sizeof(double), fmt::format("--largest {}", largest));

  cookbook::Checks checks;
  for (const int n : {10, 32, 100, 320, 1'000, 4'096, 8'192}) {
    if (n <= largest) compare(checks, n, rounds);
  }
  return checks.exit_code();
}

/// A product of matrices by cuBLAS, NVIDIA's library of linear algebra, for matrices that are stored row by row.
#pragma once

#include <cublas_v2.h>

#include <stdexcept>
#include <vector>

#include "cookbook/cuda.hpp"

/// Row by row: row i, column j is values[i * columns + j].
struct Matrix {
  int rows, columns;
  std::vector<double> values;
};

/// A session with cuBLAS.
class Blas {
 public:
  Blas() { CUBLAS_CHECK(cublasCreate(&handle_)); }
  ~Blas() { cublasDestroy(handle_); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// c = alpha * a * b + beta * c. Throws std::invalid_argument if the sizes do not fit together.
  void multiply(double alpha, const Matrix& a, const Matrix& b, double beta, Matrix& c) {
    if (a.columns != b.rows || c.rows != a.rows || c.columns != b.columns) {
      throw std::invalid_argument("multiply: the sizes of the matrices do not fit together");
    }
    const gpu::DeviceArray<double> device_a(a.values), device_b(b.values);
    gpu::DeviceArray<double> device_c(c.values);
    // cuBLAS reads a matrix column by column, so that it takes each of ours for its transpose. The transpose of a * b
    // is (transpose of b) * (transpose of a): with the two exchanged, it computes the transpose of what we want, which
    // is what we want as soon as we read it row by row.
    CUBLAS_CHECK(cublasDgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N,    // no matrix is transposed
                             c.columns, c.rows, a.columns,         // the sizes
                             &alpha, device_b.data(), b.columns,   // the first factor
                             device_a.data(), a.columns,           // the second factor
                             &beta, device_c.data(), c.columns));  // the result
    c.values = device_c.to_host();
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

/// The same on the processor, as the definition has it.
inline void multiply_on_host(double alpha, const Matrix& a, const Matrix& b, double beta, Matrix& c) {
  for (int i = 0; i < c.rows; ++i) {
    for (int j = 0; j < c.columns; ++j) {
      double sum = 0;
      for (int k = 0; k < a.columns; ++k) sum += a.values[i * a.columns + k] * b.values[k * b.columns + j];
      double& element = c.values[i * c.columns + j];
      element = alpha * sum + (beta == 0 ? 0 : beta * element);  // with beta = 0 the old value does not matter
    }
  }
}

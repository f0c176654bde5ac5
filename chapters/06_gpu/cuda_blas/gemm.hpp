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

/// A matrix in the device's memory, row by row.
template <typename T>
struct OnDevice {
  int rows, columns;
  T* values;
};

/// A session with cuBLAS.
class Blas {
 public:
  Blas() { CUBLAS_CHECK(cublasCreate(&handle_)); }
  ~Blas() { cublasDestroy(handle_); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// Queues c = alpha * a * b + beta * c on the default stream. Throws std::invalid_argument if the sizes do not fit
  /// together.
  void multiply(double alpha, OnDevice<const double> a, OnDevice<const double> b, double beta, OnDevice<double> c) {
    if (a.columns != b.rows || c.rows != a.rows || c.columns != b.columns) {
      throw std::invalid_argument("multiply: the sizes of the matrices do not fit together");
    }
    // cuBLAS reads a matrix column by column, so that it takes each of ours for its transpose. The transpose of a * b
    // is (transpose of b) * (transpose of a): with the two exchanged, it computes the transpose of what we want, which
    // is what we want as soon as we read it row by row.
    CUBLAS_CHECK(cublasDgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N,  // no matrix is transposed
                             c.columns, c.rows, a.columns,       // the sizes
                             &alpha, b.values, b.columns,        // the first factor
                             a.values, a.columns,                // the second factor
                             &beta, c.values, c.columns));       // the result
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

/// The same on the processor. The loop over k is in the middle, so that the innermost one goes along the rows of b and
/// c.
inline void multiply_on_host(double alpha, const Matrix& a, const Matrix& b, double beta, Matrix& c) {
  for (int i = 0; i < c.rows; ++i) {
    double* row = c.values.data() + i * c.columns;
    for (int j = 0; j < c.columns; ++j) row[j] = beta == 0 ? 0 : beta * row[j];  // with beta = 0 it may be no number
    for (int k = 0; k < a.columns; ++k) {
      const double factor = alpha * a.values[i * a.columns + k];
      for (int j = 0; j < c.columns; ++j) row[j] += factor * b.values[k * b.columns + j];
    }
  }
}

/// Square matrices on the device, row by row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cookbook/cuda.hpp"

/// n x n floats. In memory the rows and columns are filled up with zeros to a multiple of 256, which every tile of
/// this recipe divides: a kernel that works in whole tiles then needs no bounds checks, since zeros add nothing to a
/// sum.
class Matrix {
 public:
  explicit Matrix(int n) : n_(n), stride_((n + 255) / 256 * 256), values_(std::size_t(stride_) * stride_) {
    values_.zero();
  }

  explicit Matrix(int n, const std::vector<float>& host) : Matrix(n) {
    const std::size_t row_bytes = n * sizeof(float);
    // Copies n rows. They begin stride_ floats apart on the device, and lie one behind the other on the host.
    CUDA_CHECK(
        cudaMemcpy2D(data(), stride_ * sizeof(float), host.data(), row_bytes, row_bytes, n, cudaMemcpyHostToDevice));
  }

  int n() const { return n_; }

  /// Floats from the start of one row to that of the next.
  int stride() const { return stride_; }

  float* data() { return values_.data(); }
  const float* data() const { return values_.data(); }

  /// Makes every element a NaN.
  void poison() { values_.poison(); }

  /// Waits for the kernels started before on the default stream, and copies the n x n elements.
  std::vector<float> to_host() const {
    std::vector<float> host(std::size_t(n_) * n_);
    const std::size_t row_bytes = n_ * sizeof(float);
    CUDA_CHECK(
        cudaMemcpy2D(host.data(), row_bytes, data(), stride_ * sizeof(float), row_bytes, n_, cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  int n_, stride_;
  gpu::DeviceArray<float> values_;
};

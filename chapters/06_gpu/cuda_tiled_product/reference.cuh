/// What the product is measured against: the device's arithmetic, and cuBLAS.
#pragma once

#include <cublas_v2.h>

#include "cookbook/cuda.hpp"
#include "matrix.cuh"

/// Rounds of fma_loop(), multiplications and additions of each, and threads of a block.
constexpr int fma_rounds = 4'000, fma_round = 128, fma_threads = 256;

/// Nothing but fused multiplications and additions: 16 independent sums per thread, so that none waits for another.
__global__ void fma_loop(float x, float y, float* never) {
  float sum[16];
  for (int i = 0; i < 16; ++i) sum[i] = static_cast<float>(threadIdx.x + i);
#pragma unroll 1
  for (int round = 0; round < fma_rounds; ++round) {
#pragma unroll
    for (int step = 0; step < fma_round; ++step) sum[step % 16] = sum[step % 16] * x + y;
  }
  float all = 0;
  for (int i = 0; i < 16; ++i) all += sum[i];
  if (all == 1e30F) *never = all;  // is never true, but the compiler does not know that
}

/// Starts fma_loop() on the whole device and returns its number of floating-point operations.
inline double start_fma_loop(float* never) {
  const int blocks = 8 * gpu::multiprocessors();
  fma_loop<<<blocks, fma_threads>>>(0.999F, 0.001F, never);
  CUDA_CHECK(cudaGetLastError());
  return 2.0 * fma_rounds * fma_round * fma_threads * blocks;
}

/// cuBLAS, in single precision throughout: no TF32, which would shorten the factors to 11 binary digits.
class Cublas {
 public:
  Cublas() {
    CUBLAS_CHECK(cublasCreate(&handle_));
    CUBLAS_CHECK(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH));
  }
  ~Cublas() { cublasDestroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// cuBLAS stores matrices column by column, so it takes ours for their transposes. Since (AB)^T = B^T A^T, they are
  /// exchanged.
  void operator()(const Matrix& a, const Matrix& b, Matrix& c) {
    const float one = 1, zero = 0;
    CUBLAS_CHECK(cublasSgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, c.n(), c.n(), c.n(), &one, b.data(), b.stride(),
                             a.data(), a.stride(), &zero, c.data(), c.stride()));
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

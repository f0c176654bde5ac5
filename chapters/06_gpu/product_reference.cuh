/// What the recipes that multiply matrices have in common: cuBLAS for the comparison, speeds, and wrong elements.
#pragma once

#include <cublas_v2.h>

#include <algorithm>
#include <cstddef>

#include "cookbook/cuda.hpp"
#include "fastest.hpp"

namespace reference {

/// cuBLAS for n x n matrices that lie row after row.
class Cublas {
 public:
  Cublas() { CUBLAS_CHECK(cublasCreate(&handle_)); }
  ~Cublas() { cublasDestroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// Queues c = a * b. The elements of a and b have the type `type`: CUDA_R_32F is float,
  /// CUDA_R_16BF is __nv_bfloat16. CUBLAS_COMPUTE_32F computes with all their digits; CUBLAS_COMPUTE_32F_FAST_TF32 may
  /// shorten floats to TF32. Rows begin `stride` elements apart.
  void multiply(const void* a, const void* b, float* c, int n, int stride, cudaDataType type,
                cublasComputeType_t compute = CUBLAS_COMPUTE_32F, cudaStream_t stream = nullptr) {
    CUBLAS_CHECK(cublasSetStream(handle_, stream));
    const float one = 1, zero = 0;
    // cuBLAS stores matrices column by column, so it takes ours for their transposes: (AB)^T = B^T A^T.
    CUBLAS_CHECK(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b, type, stride, a, type, stride, &zero,
                              c, CUDA_R_32F, stride, compute, CUBLAS_GEMM_DEFAULT));
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

/// Queues a product of n x n matrices `runs` times in a row, three times over. Returns the speed of the fastest series
/// in TFLOP/s, 10^12 operations per second; a product has 2 n^3, a multiplication and an addition for each term.
template <typename Product>
double tflops(int n, Product product, int runs = 5) {
  gpu::EventTimer timer;
  double seconds = 1e9;
  runs = runs_to_make(runs);
  for (int i = 0, series = runs_to_make(3); i < series; ++i) {
    timer.start();
    for (int run = 0; run < runs; ++run) product();
    seconds = std::min(seconds, timer.stop() / runs);
  }
  return 2.0 * n * n * n / seconds * 1e-12;
}

namespace detail {
static __global__ void count_far(const float* one, const float* other, std::size_t count, float bound,
                                 unsigned long long* far) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count && !(fabsf(one[i] - other[i]) <= bound)) atomicAdd(far, 1ULL);
}
}  // namespace detail

/// How many elements of two arrays are farther apart than `bound`; a NaN is far from everything.
inline unsigned long long far_apart(const gpu::DeviceArray<float>& one, const gpu::DeviceArray<float>& other,
                                    float bound) {
  gpu::DeviceArray<unsigned long long> far(1);
  far.zero();
  const unsigned blocks = static_cast<unsigned>((one.size() + 255) / 256);
  detail::count_far<<<blocks, 256>>>(one.data(), other.data(), one.size(), bound, far.data());
  CUDA_CHECK(cudaGetLastError());
  return far.to_host()[0];
}

/// How far apart two products of random_numbers() may be that add up in another order: 1e-5 of the sum of the terms'
/// magnitudes, which are 1/4 on average.
inline float rounding_bound(int n) { return 1e-5F * static_cast<float>(n) / 4; }

}  // namespace reference

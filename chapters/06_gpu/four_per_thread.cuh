/// result[i] = function(a[i], b[i]) on the device, four elements per thread, as fast as the memory delivers them: the
/// fast form of cuda_vector_add, cuda_vectorize and cuda_affine_product, for their measurements.
#pragma once

#include <cstddef>

#include "cookbook/cuda.hpp"

namespace detail {

/// One load or store of 16 bytes where one element per thread takes four of 4 bytes. Nothing is used twice, so the
/// loads leave out the first-level cache (cg), and the stores are marked as the first to leave the second-level cache
/// (cs).
template <typename Function>
__global__ void apply_four(Function function, const float4* a, const float4* b, float4* result, std::size_t fours) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= fours) return;
  const float4 x = __ldcg(a + i), y = __ldcg(b + i);
  __stcs(result + i, make_float4(function(x.x, y.x), function(x.y, y.y), function(x.z, y.z), function(x.w, y.w)));
}

template <typename Function>
__global__ void apply_one(Function function, const float* a, const float* b, float* result, std::size_t count) {
  if (threadIdx.x < count) result[threadIdx.x] = function(a[threadIdx.x], b[threadIdx.x]);
}

}  // namespace detail

/// Queues the work on the default stream, for arrays of any length that begin on 16-byte boundaries, as those of
/// cudaMalloc do. The result may be one of the inputs.
template <typename Function>
void start_four_per_thread(Function function, const float* a, const float* b, float* result, std::size_t count) {
  constexpr int threads = 768;
  const std::size_t fours = count / 4, done = fours * 4;
  if (fours > 0) {
    detail::apply_four<<<static_cast<unsigned>((fours + threads - 1) / threads), threads>>>(
        function, reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b),
        reinterpret_cast<float4*>(result), fours);
    CUDA_CHECK(cudaGetLastError());
  }
  if (done < count) {  // up to three elements after the last four
    detail::apply_one<<<1, 32>>>(function, a + done, b + done, result + done, count - done);
    CUDA_CHECK(cudaGetLastError());
  }
}

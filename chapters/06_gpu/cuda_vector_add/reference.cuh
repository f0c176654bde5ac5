/// The library's vector addition, to compare with.
#pragma once

#include <cub/version.cuh>
#if CUB_VERSION >= 200800  // CUDA 12.9
#include <cub/device/device_transform.cuh>
#include <cuda/std/tuple>
#else
#include <thrust/execution_policy.h>
#include <thrust/transform.h>
#endif
#include <cuda/std/functional>

#include "cookbook/cuda.hpp"

namespace reference {

#if CUB_VERSION >= 200800
constexpr const char* name = "cub::DeviceTransform";

inline void start_add(const float* a, const float* b, float* sum, std::size_t count) {
  CUDA_CHECK(cub::DeviceTransform::Transform(cuda::std::make_tuple(a, b), sum, count, cuda::std::plus<float>{}));
}
#else
constexpr const char* name = "thrust::transform";

inline void start_add(const float* a, const float* b, float* sum, std::size_t count) {
  thrust::transform(thrust::cuda::par_nosync, a, a + count, b, sum, cuda::std::plus<float>{});
}
#endif

}  // namespace reference

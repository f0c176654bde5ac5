/// Measuring time on the device.
#pragma once

#include <string>
#include <utility>

#include "cookbook/measure.hpp"
#include "cuda_check.hpp"

namespace gpu {

/// A row of a measurement whose `work` queues kernels on the default stream.
///
/// Its time is that between two events, which the device records itself as it comes to them in its queue; a clock on
/// the host would measure how long it takes to queue the work.
template <typename Work>
cookbook::Row timed_row(std::string name, double amount, Work work) {
  return {std::move(name), amount, [work = std::move(work)]() mutable {
            cudaEvent_t start, stop;
            float milliseconds = 0;
            CUDA_CHECK(cudaEventCreate(&start));
            CUDA_CHECK(cudaEventCreate(&stop));
            CUDA_CHECK(cudaEventRecord(start));
            work();
            CUDA_CHECK(cudaEventRecord(stop));
            CUDA_CHECK(cudaEventSynchronize(stop));
            CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
            CUDA_CHECK(cudaEventDestroy(start));
            CUDA_CHECK(cudaEventDestroy(stop));
            return milliseconds * 1e-3;
          }};
}

}  // namespace gpu

/// Measuring time on the device.
#pragma once

#include <functional>
#include <vector>

#include "cookbook/measure.hpp"
#include "cuda_check.hpp"

namespace gpu {

/// Measures several pieces of work, each of which queues kernels on the default stream. They take turns, so that a
/// drift of the device's clock or temperature meets all of them alike: two rounds unmeasured, then `rounds` rounds
/// measured.
///
/// The time is that between two events, which the device records itself as it comes to them in its queue; a clock on
/// the host would measure how long it takes to queue the work. Seconds, one Timing a piece, in their order.
inline std::vector<cookbook::Timing> time_in_turn(int rounds, const std::vector<std::function<void()>>& works) {
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  std::vector<std::vector<double>> seconds(works.size());
  for (int round = -2; round < rounds; ++round) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      float milliseconds = 0;
      CUDA_CHECK(cudaEventRecord(start));
      works[i]();
      CUDA_CHECK(cudaEventRecord(stop));
      CUDA_CHECK(cudaEventSynchronize(stop));
      CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
      if (round >= 0) seconds[i].push_back(milliseconds * 1e-3);
    }
  }
  CUDA_CHECK(cudaEventDestroy(start));
  CUDA_CHECK(cudaEventDestroy(stop));
  std::vector<cookbook::Timing> timings;
  for (auto& of_one : seconds) timings.push_back(cookbook::timing_of(std::move(of_one)));
  return timings;
}

}  // namespace gpu

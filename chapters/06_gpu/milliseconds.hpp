/// The time of a piece of work by the host's clock, for the lessons in which the host has a part in it.
#pragma once

#include "cookbook/cuda.hpp"

/// Does the work, waits for the device, and returns how long both took, in milliseconds.
template <typename Work>
double milliseconds(Work work) {
  const cookbook::Stopwatch watch;
  work();
  CUDA_CHECK(cudaDeviceSynchronize());
  return watch.seconds() * 1e3;
}

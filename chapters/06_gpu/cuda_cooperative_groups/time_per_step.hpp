/// The time of a step on the device, for work that consists of several.
#pragma once

#include <algorithm>

#include "cookbook/cuda.hpp"
#include "fastest.hpp"

/// Seconds per step, the shortest of three times. `work(stream)` queues all steps; it is repeated 20 times.
template <typename Work>
double by_host(int steps, Work work) {
  const auto repeated = [&] {
    for (int i = 0; i < 20; ++i) work(nullptr);
  };
  return fastest_alone(repeated, 3) / 20 / steps;
}

/// The same, recorded in a graph (recipe cuda_graph): the device goes from one kernel to the next without the host.
template <typename Work>
double in_graph(int steps, Work work) {
  cookbook::Benchmark row = gpu::graph_row("", steps, work, 20);
  return std::min({row.run(), row.run(), row.run()}) / steps;
}

/// Short measurements for the tables that the lessons print. The benches measure with more care, by cookbook::Figures.
#pragma once

#include <algorithm>
#include <limits>

#include "cookbook/measure.hpp"
#include "cookbook/opencl.hpp"

/// Calls `start()`, which queues a command and returns its event, or several and returns the first and the last event,
/// `runs` times. Returns the shortest time, in seconds, that the device took for them, on the device's clock. The queue
/// must have profiling enabled.
template <typename Start>
double shortest_on_device(int runs, Start start) {
  double shortest = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) shortest = std::min(shortest, opencl::seconds_of(start()));
  return shortest;
}

/// Calls `work()` `runs` times. Returns the shortest time that a call took, in seconds, on the host's clock.
template <typename Work>
double shortest_on_host(int runs, Work work) {
  double shortest = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    const cookbook::Stopwatch watch;
    work();
    shortest = std::min(shortest, watch.seconds());
  }
  return shortest;
}

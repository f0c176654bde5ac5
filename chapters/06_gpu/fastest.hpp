/// The time of a piece of work on the device, for the lessons that compare several.
#pragma once

#include <algorithm>
#include <limits>

#include "cookbook/cuda.hpp"

/// How long the device takes at least for what `work()` queues on the default stream, in seconds: the shortest of so
/// many runs. Before each of them the work is queued once more, untimed: while the device is busy with that, the host
/// queues the timed run, so that the device need not wait for the host in between. So the work has to give the same
/// result when it is done again.
template <typename Work>
double fastest(Work work, int runs = 10) {
  gpu::EventTimer timer;
  double seconds = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    work();
    timer.start();
    work();
    seconds = std::min(seconds, timer.stop());
  }
  return seconds;
}

/// The same for work that is begun on an idle device, so that the time until the device begins is part of each run. It
/// is the form for work that takes much longer than a launch.
template <typename Work>
double fastest_alone(Work work, int runs = 10) {
  gpu::EventTimer timer;
  double seconds = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    timer.start();
    work();
    seconds = std::min(seconds, timer.stop());
  }
  return seconds;
}

/// The time of a piece of work on the device, for the lessons that compare several.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "cookbook/cuda.hpp"

/// How often a timed piece of work is to run: `wanted` times, or twice where the environment variable COOKBOOK_FEW_RUNS
/// is set. The tests set it for tools under which each run takes very long. (Not once: the first run may load code.)
inline int runs_to_make(int wanted) { return std::getenv("COOKBOOK_FEW_RUNS") ? std::min(wanted, 2) : wanted; }

/// How long the device takes at least for what `work()` queues on the default stream, in seconds: the shortest of so
/// many runs, each begun on an idle device, so that the time until the device begins is part of it. It is the form for
/// work that takes much longer than a launch, and for work that is not to be done again before `prepare()`, which comes
/// before each run and is not timed; what it queues, the device does first.
template <typename Work, typename Prepare = void (*)()>
double fastest_alone(
    Work work, int runs = 10, Prepare prepare = [] {}) {
  gpu::EventTimer timer;
  double seconds = std::numeric_limits<double>::infinity();
  runs = runs_to_make(runs);
  for (int run = 0; run < runs; ++run) {
    prepare();
    timer.start();
    work();
    seconds = std::min(seconds, timer.stop());
  }
  return seconds;
}

/// The same on a busy device: the work is queued once more before each run, untimed. While the device is busy with
/// that, the host queues the timed run, so that the device need not wait for the host in between. So the work has to
/// give the same result when it is done again.
template <typename Work>
double fastest(Work work, int runs = 10) {
  return fastest_alone(work, runs, work);
}

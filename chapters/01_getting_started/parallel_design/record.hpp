/// What the workers did in a run of the job.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "job.hpp"

/// What a worker did, and when it had no more to do, in seconds from the start.
struct Record {
  Sum sum = 0;
  long units = 0;
  double end = 0;
};
using Run = std::vector<Record>;  // one for each worker

/// The time until the last worker has finished.
inline double makespan_of(const Run& run) { return std::ranges::max(run, {}, &Record::end).end; }

/// The work of the busiest worker, divided by the average.
inline double imbalance_of(const Run& run) {
  long all = 0;
  for (const Record& record : run) all += record.units;
  const long most = std::ranges::max(run, {}, &Record::units).units;
  return static_cast<double>(most) * static_cast<double>(run.size()) / static_cast<double>(all);
}

/// Keeps the run with the shortest makespan, since other programs only ever make one longer.
inline void keep_best(Run& best, Run run) {
  if (best.empty() || makespan_of(run) < makespan_of(best)) best = std::move(run);
}

/// What the workers did in a run of the job, and the best of several runs.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "job.hpp"

/// What a worker did: the tasks with the time at which each ended, in seconds, and the results.
struct Record {
  std::vector<std::pair<Task, double>> done;
  long units = 0;
  Sum sum = 0;
  double end() const { return done.empty() ? 0 : done.back().second; }
};

/// The time until the last worker has finished.
inline double makespan_of(const std::vector<Record>& records) {
  return std::ranges::max(records, {}, &Record::end).end();
}

/// The run with the shortest makespan of three, since other programs only ever make one longer. (If they slow down all
/// runs of the plain loop, the gains are too large: measure on a machine that does nothing else.) run() gives a Record
/// for each worker.
template <typename Run>
std::vector<Record> best_of_three(Run run) {
  std::vector<Record> best;
  for (int i = 0; i < 3; ++i) {
    std::vector<Record> records = run();
    if (best.empty() || makespan_of(records) < makespan_of(best)) best = std::move(records);
  }
  return best;
}

/// Trying again while the broker is gone, with pauses that grow.
#pragma once

#include <algorithm>
#include <string>

#include "broker.hpp"

namespace task_queue {

/// As in Celery's retry_policy, with longer pauses: the broker of a restart is back in seconds, not at once, and a
/// thousand clients that all knock at full speed would hold it up.
struct RetryPolicy {
  int max_retries = 8;
  double interval_start = 0.1;  ///< seconds before the first try again
  double interval_step = 0.3;   ///< how much longer each further pause is
  double interval_max = 5;

  double pause(int failures) const { return std::min(interval_start + interval_step * failures, interval_max); }

  /// Says what happened and what is next, and gives the pause; throws `lost` on if there were tries enough.
  double next_pause(int failures, const Lost& lost) const {
    if (failures >= max_retries) throw lost;
    cookbook::complain(fmt::format("broker lost: {}; trying again in {:.2f} s", lost.what(), pause(failures)));
    return pause(failures);
  }
};

}  // namespace task_queue

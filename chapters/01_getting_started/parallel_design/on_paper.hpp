/// The design on paper: what can be worked out of the costs of the tasks, for any number of workers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <vector>

#include "mappings.hpp"

/// One task of one worker, from its begin to its end: in seconds if it was measured, in units if it is on paper.
struct Turn {
  std::size_t worker;
  Task task;
  double begin, end;
};

inline double makespan(const std::vector<Turn>& turns) {
  double latest = 0;
  for (const Turn& turn : turns) latest = std::max(latest, turn.end);
  return latest;
}

/// Whether each item was done once, by whomever.
inline bool each_once(const Job& job, std::vector<Turn> turns) {
  std::ranges::sort(turns, {}, [](const Turn& turn) { return turn.task.first; });
  long next = 0;
  for (const Turn& turn : turns) {
    if (turn.task.first != next) return false;
    next = turn.task.last;
  }
  return next == job.items();
}

inline std::vector<long> units_of_workers(const Job& job, const std::vector<Turn>& turns, std::size_t workers) {
  std::vector<long> units(workers, 0);
  for (const Turn& turn : turns) units[turn.worker] += units_of(job, turn.task);
  return units;
}

/// The most that one worker has done, over what each would have in a perfect mapping.
inline double imbalance(const std::vector<long>& units) {
  const double sum = static_cast<double>(std::accumulate(units.begin(), units.end(), 0L));
  return static_cast<double>(std::ranges::max(units)) * static_cast<double>(units.size()) / sum;
}

/// Lets the workers play through the job. To ask someone takes `hand_over` units, and who is asked serves one at a
/// time. With `ahead` a worker asks for its next task when it begins this one, and waits only if the answer is late.
inline std::vector<Turn> play(Mapping& mapping, const Job& job, std::size_t workers, double hand_over, bool ahead) {
  struct Request {
    double time;
    std::size_t worker;
    bool operator<(const Request& other) const {  // the earliest is the greatest
      return time != other.time ? time > other.time : worker > other.worker;
    }
  };
  std::priority_queue<Request> requests;
  for (std::size_t worker = 0; worker < workers; ++worker) requests.push({0, worker});
  std::vector<double> idle_from(workers, 0);
  std::map<std::size_t, double> serves_from;
  std::vector<Turn> turns;
  while (!requests.empty()) {
    const auto [time, worker] = requests.top();
    requests.pop();
    const std::optional<Grant> grant = mapping.next(worker);
    if (!grant) continue;
    double answer = time;
    for (const std::size_t who : grant->asked)
      answer = serves_from[who] = std::max(answer, serves_from[who]) + hand_over;
    const double begin = std::max(answer, idle_from[worker]);
    idle_from[worker] = begin + static_cast<double>(units_of(job, grant->task));
    turns.push_back({worker, grant->task, begin, idle_from[worker]});
    requests.push({ahead ? begin : idle_from[worker], worker});
  }
  return turns;
}

/// Cuts the row of items so that the parts have units in proportion to `shares`, as far as items allow.
inline std::vector<Task> cut(const Job& job, const std::vector<double>& shares) {
  double all = 0, total = static_cast<double>(units_of(job, {0, job.items()}));
  for (const double share : shares) all += share;
  std::vector<Task> parts;
  double wanted = 0, units = 0;
  long item = 0;
  for (const double share : shares) {
    const long first = item;
    wanted += total * share / all;
    for (; item < job.items() && units + 0.5 * static_cast<double>(job.units[static_cast<std::size_t>(item)]) <= wanted;
         ++item) {
      units += static_cast<double>(job.units[static_cast<std::size_t>(item)]);
    }
    parts.push_back({first, item});
  }
  return parts;
}

/// When the last of the workers, with these speeds, is done with its part.
inline double time_of_parts(const Job& job, const std::vector<Task>& parts, const std::vector<double>& speeds) {
  double latest = 0;
  for (std::size_t w = 0; w < parts.size(); ++w) {
    latest = std::max(latest, static_cast<double>(units_of(job, parts[w])) / speeds[w]);
  }
  return latest;
}

/// Longest first, each to the worker that has least: no search, and close to the best.
inline long greedy_makespan(std::vector<long> units, std::size_t workers) {
  std::ranges::sort(units, std::greater<>());
  std::vector<long> loads(workers, 0);
  for (const long task : units) *std::ranges::min_element(loads) += task;
  return std::ranges::max(loads);
}

/// The best of all mappings, found by trying each: one more task makes it `workers` times as long.
inline long best_makespan(const std::vector<long>& units, std::vector<long>& loads, std::size_t task = 0) {
  if (task == units.size()) return std::ranges::max(loads);
  long best = std::numeric_limits<long>::max();
  for (long& load : loads) {
    load += units[task];
    best = std::min(best, best_makespan(units, loads, task + 1));
    load -= units[task];
  }
  return best;
}

/// Items in groups: a fixed cost for each group that is handed over, and a cost for each item.
constexpr double time_in_groups(double items, double group, double fixed, double each) {
  return items / group * fixed + items * each;
}

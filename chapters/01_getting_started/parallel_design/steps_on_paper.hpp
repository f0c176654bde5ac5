/// The steps of the design that need no processor: what the costs of the items say, printed and checked.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/print.hpp"
#include "job.hpp"
#include "mappings.hpp"
#include "on_paper.hpp"

constexpr double hand_over = 4;  ///< what it takes on paper to ask for a task, in units

/// On paper: what the workers' shares are cut by decides when the last one is done.
inline void assignment_on_paper(cookbook::Checks& checks, const Job& job) {
  const std::vector<double> speeds = {2, 1, 1, 1};
  std::vector<Task> quarters;
  for (long part = 0; part < 4; ++part) quarters.push_back({job.items() * part / 4, job.items() * (part + 1) / 4});
  const double by_items = time_of_parts(job, quarters, speeds);
  const double by_units = time_of_parts(job, cut(job, {1, 1, 1, 1}), speeds);
  const double by_speed = time_of_parts(job, cut(job, speeds), speeds);
  const double perfect = static_cast<double>(units_of(job, {0, job.items()})) / 5;
  cookbook::println("\n2 assignment, on paper: 4 workers, the first of which is twice as fast");
  cookbook::println(
      "as many items each: done after {:.0f}; as many units each: {:.0f}; units by speed: {:.0f}; at best: {:.0f}",
      by_items, by_units, by_speed, perfect);
  checks.that("shares by speed end first, and not before the best can", perfect <= by_speed && by_speed <= by_units);
}

/// The best mapping of a few tasks, and what a rule without a search makes of them.
inline void search(cookbook::Checks& checks, const Job& job) {
  std::vector<long> units;
  for (const Task& task : tasks_of(job, job.items() / 11)) units.push_back(units_of(job, task));
  std::vector<long> loads(3, 0);
  const long best = best_makespan(units, loads), greedy = greedy_makespan(units, 3);
  cookbook::println("{} tasks on 3 workers: the best of 3^{} mappings ends after {} units, longest first after {}",
                    units.size(), units.size(), best, greedy);
  checks.that("longest first: at most 4/3 - 1/9 of the best", best <= greedy && 9 * greedy <= 11 * best);
}

inline void mapping_on_paper(cookbook::Checks& checks, const Job& paper) {
  cookbook::println("efficiency on paper      4 workers  16 workers  64 workers  256 workers");
  const std::vector<Task> tasks = tasks_of(paper, 16);
  const auto total = static_cast<double>(units_of(paper, {0, paper.items()}));
  bool right = true, bounded = true;
  long longest = 0;
  for (const Task& task : tasks) longest = std::max(longest, units_of(paper, task));
  const auto row = [&](const Scheme& scheme, bool ahead) {
    std::vector<double> shares;
    for (const std::size_t workers : {4UL, 16UL, 64UL, 256UL}) {
      const std::vector<Turn> turns = play(*scheme.make(tasks, workers), paper, workers, hand_over, ahead);
      right = right && each_once(paper, turns);
      const double each = total / static_cast<double>(workers);
      bounded = bounded && makespan(turns) >= std::max(each, static_cast<double>(longest));
      shares.push_back(100 * each / makespan(turns));
    }
    cookbook::println("{:<26} {:6.0f} %  {:8.0f} %  {:8.0f} %  {:9.0f} %",
                      fmt::format("{}{}", scheme.name, ahead ? ", ahead" : ""), shares[0], shares[1], shares[2],
                      shares[3]);
  };
  for (const Scheme& scheme : schemes()) {
    row(scheme, false);
    if (scheme.name == "manager and workers") row(scheme, true);
  }
  checks.that("on paper: each item once, none sooner than the work or the longest task allows", right && bounded);

  Manager manager(tasks);  // nothing is paid for asking, so nobody is idle before the last task has begun
  const double listed_time = makespan(play(manager, paper, 64, 0, false));
  checks.that("a manager who costs nothing: at most the perfect time and one task",
              listed_time <= total / 64 + static_cast<double>(longest));
}

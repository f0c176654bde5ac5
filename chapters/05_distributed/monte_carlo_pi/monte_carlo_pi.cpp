// Monte Carlo estimate of pi
//
// A point that is drawn at random in the unit square lies inside the unit circle with the probability pi / 4. So 1000
// tasks draw 1000 points each, and the share of hits gives pi. The ranks of MPI take the tasks from a common counter,
// whoever is free takes the next. Each task has random numbers of its own, so the result is the same to the last hit
// for any number of ranks.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/05_distributed/monte_carlo_pi/monte_carlo_pi.cpp common/cookbook/*.cpp -lfmt -o monte_carlo_pi
// Run:     mpirun -n 2 monte_carlo_pi [--tasks N] [--points N]

#include <cmath>
#include <numbers>
#include <numeric>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "distributed_map.hpp"
#include "random_points.hpp"

int main(int argc, char** argv) {
  int tasks = 1000;
  long points = 1000;
  cookbook::Options options("Estimate pi with tasks on several ranks");
  options.add("tasks", tasks, "tasks to do", 1, 1'000'000);
  options.add("points", points, "random points per task", 1, 1'000'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const std::vector<long> of_task = distributed_map(world, tasks, [&](long task) { return hits(task, points); });

  cookbook::Checks checks;
  if (world.rank() == 0) {
    const double all = static_cast<double>(tasks) * static_cast<double>(points);
    const long total = std::accumulate(of_task.begin(), of_task.end(), 0L);
    const double pi = 4 * static_cast<double>(total) / all;
    const double error = pi - std::numbers::pi;
    const double standard_error = std::sqrt(std::numbers::pi * (4 - std::numbers::pi) / all);
    cookbook::println("{} of {:.0f} points are inside the circle, about {} of {} per task", total, all, total / tasks,
                      points);
    cookbook::println("pi is about {:.6f}, off by {:.4f} per cent", pi, 100 * std::abs(error) / std::numbers::pi);

    std::vector<long> alone;
    for (long task = 0; task < tasks; ++task) alone.push_back(hits(task, points));
    checks.that("each task's hits are those that one process counts", of_task == alone);
    checks.within("the error in standard errors", std::round(100 * error / standard_error) / 100, -4, 4);
  }
  return world.exit_code(checks);
}

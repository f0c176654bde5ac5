// Monte Carlo estimate of pi
//
// A point that is drawn at random in the unit square lies inside the unit circle with the probability pi / 4. So 1000
// tasks draw points, and the share of hits gives pi. The ranks of MPI take the tasks from a common counter: whoever is
// free takes the next. The output shows for tasks of three sizes how many times as fast all ranks are as one process,
// and that the time can roughly be foretold from what tasks cost that do nothing. Each task has random numbers of its
// own, so the hits are the same for any number of ranks.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/05_distributed/monte_carlo_pi/monte_carlo_pi.cpp common/cookbook/*.cpp -lfmt -o monte_carlo_pi
// Run:     mpirun -n 2 monte_carlo_pi [--tasks N] [--points N]

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "distributed_map.hpp"
#include "random_points.hpp"

namespace {

/// The hits of each task, counted by all ranks. Called by all ranks.
std::vector<long> by_all_ranks(const mpi::Environment& world, int tasks, long points) {
  return distributed_map(world, tasks, [&](long task) { return hits(task, points); });
}

/// The hits of each task, counted by rank 0 in a plain loop, while the other ranks sleep. Empty on the others.
std::vector<long> by_one_process(const mpi::Environment& world, int tasks, long points) {
  std::vector<long> of_task;
  if (world.rank() == 0) {
    for (long task = 0; task < tasks; ++task) of_task.push_back(hits(task, points));
  }
  return of_task;
}

/// The seconds of the fastest of three calls of `work`.
template <typename Work>
double best_of_three(const mpi::Environment& world, Work work) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    world.sleeping_barrier();                // the ranks without work sleep,
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));  // and now all begin at the same moment
    const cookbook::Stopwatch watch;
    work();
    best = std::min(best, watch.seconds());
  }
  world.sleeping_barrier();
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  int tasks = 1000;
  long points = 100'000;
  cookbook::Options options("Estimate pi with tasks on several ranks");
  options.add("tasks", tasks, "tasks to do", 1, 1'000'000);
  options.add("points", points, "random points per task in the last row", 1, 1'000'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  int sizes = 0, same = 0;
  double error = 0, standard_error = 0;
  const double nothing = best_of_three(world, [&] { distributed_map(world, tasks, [](long /*task*/) { return 0L; }); });
  if (world.rank() == 0) {
    cookbook::println("{} tasks that do nothing: {:.2f} ms", tasks, 1e3 * nothing);
    cookbook::println("points per task{:>12}{:>14}{:>12}{:>12}{:>12}", "pi", "one process", "foretold",
                      fmt::format("{} ranks", world.size()), "speed-up");
  }
  for (const long size : {points / 10'000, points / 100, points}) {
    if (size == 0) continue;
    std::vector<long> alone, shared_out;
    const double one = best_of_three(world, [&] { alone = by_one_process(world, tasks, size); });
    const double all = best_of_three(world, [&] { shared_out = by_all_ranks(world, tasks, size); });
    if (world.rank() != 0) continue;
    ++sizes;
    same += shared_out == alone;
    const double drawn = static_cast<double>(tasks) * static_cast<double>(size);
    const double pi = 4 * static_cast<double>(std::accumulate(shared_out.begin(), shared_out.end(), 0L)) / drawn;
    error = pi - std::numbers::pi;
    standard_error = std::sqrt(std::numbers::pi * (4 - std::numbers::pi) / drawn);
    const double expected = nothing + one / world.size();  // each rank does its share of the work
    cookbook::println("{:15}{:12.6f}{:11.2f} ms{:9.2f} ms{:9.2f} ms{:10.2f} x", size, pi, 1e3 * one, 1e3 * expected,
                      1e3 * all, one / all);
  }
  cookbook::Checks checks;
  if (world.rank() == 0) {
    checks.equal("rows in which each task has as many hits as one process counts", same, sizes);
    checks.within("error of the last row, in standard errors", std::round(100 * error / standard_error) / 100, -4, 4);
  }
  return world.exit_code(checks);
}

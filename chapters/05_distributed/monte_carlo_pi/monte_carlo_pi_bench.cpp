// Monte Carlo estimate of pi, measured
//
// The same number of points, cut into tasks of different sizes: how large does a task have to be?
//
// Compile: mpicxx -std=c++20 -O3 -march=native -Icommon chapters/05_distributed/monte_carlo_pi/monte_carlo_pi_bench.cpp common/cookbook/*.cpp -lfmt -o monte_carlo_pi_bench
// Run:     mpirun -n 2 monte_carlo_pi_bench [--points N] [--rounds N]

#include <numeric>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "distributed_map.hpp"
#include "random_points.hpp"

int main(int argc, char** argv) {
  int points = 500'000'000, rounds = 9;
  cookbook::Options options("Measure the estimate of pi with tasks of several sizes");
  options.add("points", points, "points in all", 1'000'000, 1'000'000'000);
  options.add("rounds", rounds, "times that each row is measured", 1, 1000);
  options.parse(argc, argv);

  const mpi::Environment world;
  cookbook::pin(world.rank());
  cookbook::Checks checks;

  // Rank 0 alone, in a plain loop over tasks; the others sleep.
  std::vector<cookbook::Benchmark> rows;
  bool right = true;
  for (const int size : {1'000'000, 100'000, 10'000, 1'000, 100}) {
    const int tasks = points / size;
    const double all = static_cast<double>(tasks) * size;
    std::vector<long> expected(tasks);
    for (int task = 0; task < tasks; ++task) expected[task] = hits(task, size);
    if (size == 1'000'000) {
      rows.emplace_back(fmt::format("one process, {} points per task", size), all, [=, &world, &right] {
        const cookbook::Stopwatch watch;
        if (world.rank() == 0) {
          long total = 0;
          for (int task = 0; task < tasks; ++task) total += hits(task, size);
          right = right && total == std::accumulate(expected.begin(), expected.end(), 0L);
        }
        const double seconds = watch.seconds();
        world.sleeping_barrier();
        return seconds;
      });
    }
    rows.emplace_back(fmt::format("all ranks, {} points per task", size), all, [=, &world, &right] {
      MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
      const cookbook::Stopwatch watch;
      const auto counted = distributed_map(world, tasks, [&](long task) { return hits(task, size); });
      const double seconds = watch.seconds();
      right = right && counted == expected;
      return seconds;
    });
  }
  cookbook::Figures figures(fmt::format("Points drawn, {} ranks", world.size()), cookbook::rate("M points/s", 1e6));
  figures.measure(rows, rounds);
  figures.speedup_over(rows.front().name, "one");
  if (world.rank() == 0) {
    checks.that("the hits are right in every round", right);
    figures.print(checks);
  }
  return world.exit_code(checks);
}

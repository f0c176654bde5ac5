// Hello from every rank
//
// mpirun starts this one program five times. Each process asks MPI for its number, the rank, and for the number of
// ranks, and prints a line. Then the ranks share a job: each computes its own part of the area under the curve
// 4 / (1 + x * x) from 0 to 1, which is pi, and rank 0 gets the sum of what they have added up.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_hello/mpi_hello.cpp common/cookbook/*.cpp -lfmt -o mpi_hello
// Run:     mpirun -n 5 mpi_hello [--intervals N]

#include <cmath>
#include <numbers>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

/// The area of narrow rectangles, each as high as the curve is at the rectangle's middle (the midpoint rule). Adds up
/// the rectangles `first`, `first + step`, `first + 2 * step` and so on, out of `intervals`.
double area(long intervals, int first, int step) {
  const double width = 1.0 / static_cast<double>(intervals);
  double heights = 0;
  for (long i = first; i < intervals; i += step) {
    const double x = (static_cast<double>(i) + 0.5) * width;
    heights += 4 / (1 + x * x);
  }
  return heights * width;
}

}  // namespace

int main(int argc, char** argv) {
  long intervals = 10'000;
  cookbook::Options options("Say hello from every rank, and compute pi together");
  options.add("intervals", intervals, "rectangles that pi is added up from", 1, 100'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;  // MPI_Init_thread here, MPI_Finalize at the end of main
  int rank = 0, ranks = 0;
  MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));   // which one am I?
  MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));  // how many are we?
  cookbook::println("hello world from process {} of {}", rank, ranks);

  const double mine = area(intervals, rank, ranks);  // rectangles rank, rank + ranks, ...
  double pi = 0;
  MPI_CHECK(MPI_Reduce(&mine, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));  // rank 0 gets the sum

  world.print_in_order(fmt::format("rank {} has added up {:.10f}", rank, mine));

  cookbook::Checks checks;
  if (rank == 0) {
    const double error = std::abs(pi - std::numbers::pi), n = static_cast<double>(intervals);
    cookbook::println("together      {:.10f}, which differs from pi by {:.2e}", pi, error);
    checks.that("the error is at most 1 / (12 * intervals^2) + 1e-11", error <= 1 / (12 * n * n) + 1e-11);
    checks.that("one process alone adds up the same, within 1e-11", std::abs(pi - area(intervals, 0, 1)) <= 1e-11);
  }
  return world.exit_code(checks);  // on all ranks that of rank 0
}

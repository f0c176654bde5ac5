// Hello from every rank
//
// mpirun starts this one program five times. Each process asks for its number, the rank, and how many ranks there are,
// and prints a line; all write at once, so the lines come in any order. Then the ranks share a job, the area under
// 4 / (1 + x * x), which is pi: the classic test of an MPI installation. At the end they form two smaller groups, and
// each gets a second rank there.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_hello/mpi_hello.cpp common/cookbook/*.cpp -lfmt -o mpi_hello
// Run:     mpirun -n 5 mpi_hello [--intervals N]

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "mpi_session.hpp"

namespace {

/// The area under 4 / (1 + x * x) from 0 to 1 as a sum of narrow rectangles, each as high as the curve is at its
/// middle. Adds up the rectangles `first`, `first + step`, `first + 2 * step` and so on.
double area(long intervals, long first, long step) {
  const double width = 1.0 / static_cast<double>(intervals);
  double heights = 0;
  for (long i = first; i < intervals; i += step) {
    const double x = (static_cast<double>(i) + 0.5) * width;
    heights += 4 / (1 + x * x);
  }
  return heights * width;
}

double pi_alone(long intervals) { return area(intervals, 0, 1); }

/// Called by all ranks. Each takes every ranks-th rectangle, as one deals cards; rank 0 gets the sum, the others 0.
double pi_together(long intervals) {
  int rank = 0, ranks = 0;
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  const double mine = area(intervals, rank, ranks);
  double sum = 0;
  CHECK_MPI(MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
  return sum;
}

/// This process in the communicator `group`, such as "3 of 5".
std::string place_in(MPI_Comm group) {
  int rank = 0, ranks = 0;
  CHECK_MPI(MPI_Comm_rank(group, &rank));
  CHECK_MPI(MPI_Comm_size(group, &ranks));
  return fmt::format("{} of {}", rank, ranks);
}

/// Even and odd ranks form a communicator each; the ranks of both count from 0 again. Returns this process's place.
std::string place_among_even_or_odd(int rank) {
  MPI_Comm half;
  CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
  const std::string place = place_in(half);
  CHECK_MPI(MPI_Comm_free(&half));
  return place;
}

/// The library that answers, such as "Open MPI v4.1.4", and the version of the standard that it keeps.
std::string library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0, version = 0, subversion = 0;
  CHECK_MPI(MPI_Get_library_version(text, &length));
  CHECK_MPI(MPI_Get_version(&version, &subversion));
  const std::string name(text);
  return fmt::format("{}, MPI {}.{}", name.substr(0, name.find_first_of(",\n")), version, subversion);
}

}  // namespace

int main(int argc, char** argv) {
  long intervals = 10'000;
  cookbook::Options options("Say hello from every rank, and compute pi together");
  options.add("intervals", intervals, "rectangles that pi is added up from", 1, 100'000'000);
  options.parse(argc, argv);

  const mpi::Session session;
  const int rank = session.rank(), ranks = session.ranks();
  const std::string place = place_in(MPI_COMM_WORLD);
  cookbook::println("hello world from process {}", place);

  const std::vector<std::string> places = session.gather(place);
  const std::vector<std::string> halves = session.gather(place_among_even_or_odd(rank));
  const double pi = pi_together(intervals);

  cookbook::Checks checks;
  if (rank == 0) {
    std::vector<std::string> places_expected, halves_expected;
    for (int i = 0; i < ranks; ++i) {
      places_expected.push_back(fmt::format("{} of {}", i, ranks));
      halves_expected.push_back(fmt::format("{} of {}", i / 2, i % 2 == 0 ? (ranks + 1) / 2 : ranks / 2));
    }
    checks.equal("all processes", places, places_expected);
    checks.equal("the same, even and odd apart", halves, halves_expected);

    const double error = std::abs(pi - std::numbers::pi);
    const double promised = 1 / (12.0 * static_cast<double>(intervals) * static_cast<double>(intervals));
    cookbook::println("pi is approximately {:.10f}, error {:.2e}", pi, error);
    checks.that("the error is at most 1 / (12 * intervals^2)", error <= promised + 1e-10);
    checks.that("one process alone adds up the same", std::abs(pi - pi_alone(intervals)) <= 1e-10);
    cookbook::println("{}", library());
  }
  return session.exit_code(checks);
}

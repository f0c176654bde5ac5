// Flynn's taxonomy
//
// Flynn sorts machines by two questions: how many streams of instructions, and how many streams of data? One job, three
// sums over one row of numbers, is done in all four ways (four_ways.hpp). SISD: one number at a time. SIMD: one
// instruction for several numbers. MISD: several functions, all on the same piece of the row. MIMD: several threads,
// each on a piece of its own. The sums are the same, the times are not. The last column has odd and even numbers mixed:
// a processor that has to guess which side of a branch comes next is wrong half of the time.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/01_getting_started/flynn_taxonomy/flynn_taxonomy.cpp common/cookbook/*.cpp -lfmt -pthread -o flynn_taxonomy
// Run:     flynn_taxonomy [--numbers N] [--piece N] [--threads N]

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "four_ways.hpp"

namespace {

/// The shortest time in seconds of fifty runs, or of those in a quarter of a second; and the sums that they gave.
template <typename Way>
double shortest_time(Way way, Numbers row, Sums& sums) {
  const cookbook::Stopwatch all_runs;
  double shortest = 1e9;
  for (int i = 0; i == 0 || (i < 50 && all_runs.seconds() < 0.25); ++i) {
    const cookbook::Stopwatch watch;
    sums = way(row);
    shortest = std::min(shortest, watch.seconds());
  }
  return shortest;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 1'000'000, piece = 100'000, threads = 2;
  cookbook::Options options("Do one job in the four ways of Flynn's taxonomy");
  options.add("numbers", size, "numbers in the row", 1, 1UL << 28);
  options.add("piece", piece, "numbers that a thread of MISD and MIMD works on at a time", 1, 1UL << 28);
  options.add("threads", threads, "threads of MIMD; MISD has one per function", 1, 256);
  options.parse(argc, argv);

  std::vector<Number> mixed(size);
  std::generate(mixed.begin(), mixed.end(), std::mt19937(1));
  std::vector<Number> row = mixed;
  std::partition(row.begin(), row.end(), [](Number x) { return x % 2 == 1; });  // first all odd numbers, then all even

  const Sums expected = sisd(row);
  cookbook::println("{} numbers x, sums of x, x * x and branch(x): {}", size, expected);
  cookbook::println("{:<19}{:<28}{:>9}{:>13}{:>17}{:>13}", "", "threads and loops", "at a time", "odd first",
                    "gain over row 1", "mixed");
  double base = 0;  // the time of the first row
  int wrong = 0;
  const auto compare = [&](std::string_view name, std::string_view how, std::string_view at_a_time, auto way) {
    Sums sums, sums_if_mixed;
    const double seconds = shortest_time(way, row, sums);
    const double if_mixed = shortest_time(way, mixed, sums_if_mixed);
    if (base == 0) base = seconds;
    cookbook::println("{:<19}{:<28}{:>9}{:10.1f} us{:15.2f} x{:10.1f} us", name, how, at_a_time, seconds * 1e6,
                      base / seconds, if_mixed * 1e6);
    wrong += sums != expected || sums_if_mixed != expected;
  };
  const std::string of_simd = std::to_string(lanes), count = std::to_string(threads);
  compare("SISD", "1 thread, a loop per sum", "1", sisd);
  compare("SISD", "1 thread, one loop", "1", sisd_one_loop);
  compare("compiler's choice", "1 thread, one loop", "-", compilers_choice);
  compare("SIMD", "1 thread, one loop", of_simd, simd);
  compare("MISD", "3 threads, one per sum", "1", [&](Numbers data) { return misd(data, piece); });
  compare("MIMD", count + " threads, next piece each", "1",
          [&](Numbers data) { return mimd(data, piece, threads, sisd); });
  compare("MIMD of SIMD", count + " threads, next piece each", of_simd,
          [&](Numbers data) { return mimd(data, piece, threads, simd); });

  cookbook::Checks checks;
  checks.equal("ways with other sums than SISD", wrong, 0);
  return checks.exit_code();
}

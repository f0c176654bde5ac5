// Flynn's taxonomy
//
// Flynn sorts machines by two questions: how many streams of instructions, and how many streams of data? One job, three
// sums over one row of numbers, is done in all four ways (four_ways.hpp). SISD: one function, one number at a time.
// SIMD: one instruction for several numbers. MISD: several functions, all on the same piece of the row. MIMD: several
// threads, each with any function on any piece. The sums are the same, the times are not. The last column has odd and
// even numbers mixed: a processor that has to guess which side of a branch comes next is wrong half of the time.
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

/// The shortest time of fifty runs in seconds, and the sums that they gave.
template <typename Way>
double shortest_of_fifty(Way way, Numbers row, Sums& sums) {
  double shortest = 1e9;
  for (int i = 0; i < 50; ++i) {
    const cookbook::Stopwatch watch;
    sums = way(row);
    shortest = std::min(shortest, watch.seconds());
  }
  return shortest;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 1'000'000, piece = 100'000, threads = 2;
  cookbook::Options options("Do one job with one or several streams of instructions and data (Flynn's taxonomy)");
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
  cookbook::println("      {:<27}{:<22}{:>10}{:>10}{:>22}", "streams of instructions", "streams of data", "time",
                    "gain", "time, numbers mixed");
  double base = 0;  // the time of the first row
  int wrong = 0;
  const auto compare = [&](std::string_view name, const std::string& instructions, const std::string& data, auto way) {
    Sums sums, sums_if_mixed;
    const double seconds = shortest_of_fifty(way, row, sums);
    const double if_mixed = shortest_of_fifty(way, mixed, sums_if_mixed);
    if (base == 0) base = seconds;
    cookbook::println("{:<6}{:<27}{:<22}{:7.1f} us{:8.2f} x{:19.1f} us", name, instructions, data, seconds * 1e6,
                      base / seconds, if_mixed * 1e6);
    wrong += sums != expected || sums_if_mixed != expected;
  };
  compare("SISD", "1 thread, a loop per sum", "1 number at a time", sisd);
  compare("SISD", "1 thread, one loop", "1 number at a time", sisd_one_loop);
  compare("SIMD", "1 thread, one loop", fmt::format("{} numbers at a time", lanes), simd);
  compare("MISD", "3 threads, one per sum", "1 piece at a time", [&](Numbers data) { return misd(data, piece); });
  compare("MIMD", fmt::format("{} threads, next job each", threads), fmt::format("{} pieces at a time", threads),
          [&](Numbers data) { return mimd(data, piece, threads); });

  cookbook::Checks checks;
  checks.equal("ways with other sums than SISD", wrong, 0);
  return checks.exit_code();
}

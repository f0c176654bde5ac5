// Flynn's taxonomy
//
// Flynn sorts machines by two questions: how many streams of instructions, and how many streams of data? One job is
// done in all four ways (four_ways.hpp), three sums over one row of numbers. SISD: one instruction for one number at a
// time. SIMD: one instruction for several numbers. MISD: several functions, all on the same numbers at a time. MIMD:
// several threads, each with any function on any numbers. The sums are the same, the times are not.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/01_getting_started/flynn_taxonomy/flynn_taxonomy.cpp common/cookbook/*.cpp -lfmt -pthread -o flynn_taxonomy
// Run:     flynn_taxonomy [--numbers N] [--piece N] [--threads N]

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "four_ways.hpp"

namespace {

/// The shortest time of five runs in seconds, and the sums that they gave.
template <typename Way>
double shortest_of_five(Way way, Sums& sums) {
  double shortest = 1e9;
  for (int i = 0; i < 5; ++i) {
    const cookbook::Stopwatch watch;
    sums = way();
    shortest = std::min(shortest, watch.seconds());
  }
  return shortest;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 1'000'000, piece = 10'000, threads = 2;
  cookbook::Options options("Do one job in the four ways of Flynn's taxonomy");
  options.add("numbers", size, "numbers in the row", 1, 1UL << 28);
  options.add("piece", piece, "numbers that a thread of MISD and MIMD works on at a time", 1, 1UL << 28);
  options.add("threads", threads, "threads of MIMD; MISD has one per function", 1, 256);
  options.parse(argc, argv);

  std::vector<Number> row(size);
  std::generate(row.begin(), row.end(), std::mt19937(1));

  Sums expected, sums;
  const double base = shortest_of_five([&] { return sisd(row); }, expected);
  cookbook::println("{} numbers x, sums of x, x * x and branch(x): {}", size, expected);
  cookbook::println("SISD  {:<42}{:8.3f} ms", "1 thread, a number at a time", base * 1e3);
  int wrong = 0;
  const auto compare = [&](const std::string& name, auto way) {
    const double seconds = shortest_of_five(way, sums);
    cookbook::println("{:<48}{:8.3f} ms{:8.2f} x", name, seconds * 1e3, base / seconds);
    wrong += sums != expected;
  };
  compare(fmt::format("SIMD  1 thread, {} numbers at a time", lanes), [&] { return simd(row); });
  compare("MISD  3 threads, a function each", [&] { return misd(row, piece); });
  compare(fmt::format("MIMD  {} threads, any function, any piece", threads), [&] { return mimd(row, piece, threads); });

  cookbook::Checks checks;
  checks.equal("ways with other sums than SISD", wrong, 0);
  return checks.exit_code();
}

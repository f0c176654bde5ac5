// Flynn's taxonomy
//
// Flynn sorts machines by two questions: how many streams of instructions, and how many streams of data? One job, three
// sums over one row of numbers, is done in all four ways (four_ways.hpp). SISD: one function, one number at a time.
// SIMD: one instruction for several numbers. MISD: several functions, all on the same piece of the row. MIMD: several
// threads, each with any function on any piece. The sums are the same, the times are not.
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
double shortest_of_fifty(Way way, Sums& sums) {
  double shortest = 1e9;
  for (int i = 0; i < 50; ++i) {
    const cookbook::Stopwatch watch;
    sums = way();
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

  std::vector<Number> row(size);
  std::generate(row.begin(), row.end(), std::mt19937(1));
  std::partition(row.begin(), row.end(), [](Number x) { return x % 2 == 1; });  // odd first; exercise 1 shows why

  Sums expected, sums;
  const double base = shortest_of_fifty([&] { return sisd(row); }, expected);
  cookbook::println("{} numbers x, sums of x, x * x and branch(x): {}", size, expected);
  cookbook::println("      {:<29}{:<22}{:>11}", "streams of instructions", "streams of data", "time");
  cookbook::println("SISD  {:<29}{:<22}{:8.3f} ms", "1 thread", "1 number at a time", base * 1e3);
  int wrong = 0;
  const auto compare = [&](std::string_view name, const std::string& instructions, const std::string& data, auto way) {
    const double seconds = shortest_of_fifty(way, sums);
    cookbook::println("{:<6}{:<29}{:<22}{:8.3f} ms{:8.2f} x", name, instructions, data, seconds * 1e3, base / seconds);
    wrong += sums != expected;
  };
  compare("SIMD", "1 thread", fmt::format("{} numbers at a time", lanes), [&] { return simd(row); });
  compare("MISD", "3 threads, a function each", "1 piece at a time", [&] { return misd(row, piece); });
  compare("MIMD", fmt::format("{} threads, any function", threads), fmt::format("{} pieces at a time", threads),
          [&] { return mimd(row, piece, threads); });

  cookbook::Checks checks;
  checks.equal("ways with other sums than SISD", wrong, 0);
  return checks.exit_code();
}

// Memory bandwidth
//
// How fast numbers come from memory depends on how many requests are on their way at the same time. In the first row it
// is one: where the program reads next is known only when the last number has come. In the next rows 8, 16 and 64 such
// walks take turns. The last two rows add up all numbers in order, by one thread and by all threads. The last column
// compares each rate with that of the first row.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/02_threads/memory_bandwidth/memory_bandwidth.cpp common/cookbook/*.cpp -lfmt -pthread -o memory_bandwidth
// Run:     memory_bandwidth [--numbers N] [--threads N]

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "streams.hpp"

namespace {

constexpr int runs = 5, lines = 19'200;  // of each row; the lines that a run of walks reads
constexpr double bytes_of_line = 64;

/// Calls `run` several times, and returns how many bytes per second it read in the fastest of these calls.
template <typename Run>
double rate_of(double bytes, Run run) {
  double seconds = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) {
    const cookbook::Stopwatch watch;
    run();
    seconds = std::min(seconds, watch.seconds());
  }
  return bytes / seconds;
}

/// How fast one thread reads if so many walks take turns. They begin at `place`, and move it to where they have ended:
/// so the next row reads lines that none has read.
template <std::size_t walks>
double rate_of_walks(std::span<const Number> numbers, Number& place) {
  constexpr int steps = lines / walks;
  auto places = places_of_walks<walks>(numbers.size(), place, runs * steps);
  const double rate = rate_of(bytes_of_line * lines, [&] { places = walk(numbers, places, steps); });
  place = places.back();
  return rate;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 1 << 26;
  int threads = cookbook::allowed_processors();
  cookbook::Options options("Read at the speed of the memory");
  options.add("numbers", size, "numbers that are added up, four bytes each", 1, std::size_t{1} << 31);
  options.add("threads", threads, "threads", 1, 1'024);
  options.parse(argc, argv);
  const double bytes = 4.0 * static_cast<double>(size);
  cookbook::require_memory(bytes, fmt::format("--numbers {}", size));

  // A std::vector would first be filled with zeros, by one thread. Here each thread is the first to write its block, so
  // on a machine with several memories the system gives it the nearest one.
  const auto memory = std::make_unique_for_overwrite<Number[]>(size);
  const std::span<Number> numbers(memory.get(), size);
  in_blocks(size, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) numbers[i] = static_cast<Number>(i);
  });

  Number place = 0;
  const double one_at_a_time = rate_of_walks<1>(numbers, place);
  const auto print = [&](const std::string& what, double rate) {
    cookbook::println("{:<34}{:7.2f} GB/s{:14.0f}", what, rate / 1e9, rate / one_at_a_time);
  };
  cookbook::println("{:<34}       rate   vs first row",
                    fmt::format("{} MiB, all threads: {}", 4 * size >> 20, threads));
  print("one thread, 1 line at a time", one_at_a_time);
  print("one thread, 8 lines at a time", rate_of_walks<8>(numbers, place));
  print("one thread, 16 lines at a time", rate_of_walks<16>(numbers, place));
  print("one thread, 64 lines at a time", rate_of_walks<64>(numbers, place));
  std::vector<Number> sums(2);
  print("one thread, in order", rate_of(bytes, [&] { sums[0] = sum(numbers, 1); }));
  print("all threads, in order", rate_of(bytes, [&] { sums[1] = sum(numbers, threads); }));

  cookbook::Checks checks;
  const auto expected = static_cast<Number>(std::uint64_t{size} * (size - 1) / 2);  // 0 + 1 + 2 + ... + (size - 1)
  checks.equal("the two sums, modulo 2^32", sums, std::vector<Number>(2, expected));
  checks.equal("where the last walk ended", place, static_cast<Number>(4ULL * runs * lines * jump(size) % size));
  return checks.exit_code();
}

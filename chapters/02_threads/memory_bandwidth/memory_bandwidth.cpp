// Memory bandwidth
//
// How fast numbers come from memory depends on how many requests are on their way at the same time. The first row has
// one at a time: where it reads next is known only when the last number has come. The second row does the same from
// eight places in turn. The other rows add up all numbers: by one thread and by all threads, in order and in turn from
// eight places. The last column compares each rate with that of the first row. The functions are in streams.hpp;
// memory_bandwidth_bench measures more forms, beside libraries.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/02_threads/memory_bandwidth/memory_bandwidth.cpp common/cookbook/*.cpp -lfmt -pthread -o memory_bandwidth
// Run:     memory_bandwidth [--numbers N] [--threads N]

#include <algorithm>
#include <array>
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

constexpr double bytes_of_line = 64;

/// Calls `run` five times, and returns how many bytes per second it read in the fastest of these calls.
template <typename Run>
double rate_of(double bytes, Run run) {
  double seconds = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const cookbook::Stopwatch watch;
    run();
    seconds = std::min(seconds, watch.seconds());
  }
  return bytes / seconds;
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

  // A std::vector would first be filled with zeros, by one thread. Here each thread is the first to write its block.
  const auto memory = std::make_unique_for_overwrite<Number[]>(size);
  const std::span<Number> numbers(memory.get(), size);
  in_blocks(size, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) numbers[i] = static_cast<Number>(i);
  });

  constexpr int steps = 100'000;
  constexpr double bytes_walked = bytes_of_line * steps;
  Number place = 0;  // each walk goes on where the last one ended, at lines that none has read
  const double one_at_a_time = rate_of(bytes_walked, [&] { place = walk(numbers, place, steps); });
  std::array<Number, 8> places;  // each of these walks ends where the next one has begun
  for (std::uint64_t i = 0; i < places.size(); ++i) {
    places[i] = static_cast<Number>((place + i * (5 * steps / 8) * jump(size)) % size);
  }
  const auto print = [&](const std::string& what, double rate) {
    cookbook::println("{:<41}{:7.2f} GB/s{:11.0f}", what, rate / 1e9, rate / one_at_a_time);
  };
  std::vector<Number> sums(4);
  cookbook::println("{:<41}       rate   vs first row",
                    fmt::format("{} MiB of numbers, all threads: {}", 4 * size >> 20, threads));
  print("one thread, one line at a time", one_at_a_time);
  print("one thread, eight lines at a time", rate_of(bytes_walked, [&] { places = walk(numbers, places, steps / 8); }));
  print("one thread, in order", rate_of(bytes, [&] { sums[0] = sum<1>(numbers, 1); }));
  print("one thread, in order in eight places", rate_of(bytes, [&] { sums[1] = sum<8>(numbers, 1); }));
  print("all threads, in order", rate_of(bytes, [&] { sums[2] = sum<1>(numbers, threads); }));
  print("all threads, in order in eight places", rate_of(bytes, [&] { sums[3] = sum<8>(numbers, threads); }));

  cookbook::Checks checks;
  const auto expected = static_cast<Number>(std::uint64_t{size} * (size - 1) / 2);  // 0 + 1 + 2 + ... + (size - 1)
  checks.equal("the four sums, modulo 2^32", sums, std::vector<Number>(4, expected));
  checks.equal("where the last walk ended", places.back(),
               static_cast<Number>(10 * steps * std::uint64_t{jump(size)} % size));
  return checks.exit_code();
}

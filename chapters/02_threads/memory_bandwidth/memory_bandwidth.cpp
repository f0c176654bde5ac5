// Memory bandwidth
//
// To add up numbers that lie in memory, a processor has to fetch four bytes for each addition, and memory is slower
// than the addition. So the question is how to fetch faster: one thread reads from front to end, and then in turn from
// eight places; all threads do the same, each with a block of the numbers. A triad, a + 3 b, writes as well. The
// numbers are so many that they do not fit into most caches. The functions are in streams.hpp;
// memory_bandwidth_bench measures them more carefully, beside libraries.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/02_threads/memory_bandwidth/memory_bandwidth.cpp common/cookbook/*.cpp -lfmt -pthread -o memory_bandwidth
// Run:     memory_bandwidth [--numbers N] [--threads N]

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "streams.hpp"

namespace {

/// Calls `run` five times, and prints how many bytes per second were read and written in the fastest of these calls.
template <typename Run>
void print_speed(const char* name, std::size_t bytes, Run run) {
  double seconds = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const cookbook::Stopwatch watch;
    run();
    seconds = std::min(seconds, watch.seconds());
  }
  cookbook::println("{:<43}{:6.1f} GB/s", name, static_cast<double>(bytes) / seconds / 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 1 << 26;
  int threads = cookbook::allowed_processors();
  cookbook::Options options("Read and write at the speed of the memory");
  options.add("numbers", size, "numbers that are added up, four bytes each", 1, std::size_t{1} << 31);
  options.add("threads", threads, "threads", 1, 1'024);
  options.parse(argc, argv);
  cookbook::require_memory(4.0 * static_cast<double>(size), fmt::format("--numbers {}", size));

  // A std::vector would first be filled with zeros, by one thread. Here each thread is the first to write its block of
  // the sum. (The triad has other blocks.)
  const auto memory = std::make_unique_for_overwrite<Number[]>(size);
  const std::span<Number> numbers(memory.get(), size);
  in_blocks(size, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) numbers[i] = static_cast<Number>(i);
  });

  std::vector<Number> sums(4);
  cookbook::println("{} MiB of numbers, all threads: {}", 4 * size >> 20, threads);
  print_speed("sum by one thread", 4 * size, [&] { sums[0] = sum<1>(numbers, 1); });
  print_speed("sum by one thread, in eight places", 4 * size, [&] { sums[1] = sum<8>(numbers, 1); });
  print_speed("sum by all threads", 4 * size, [&] { sums[2] = sum<1>(numbers, threads); });
  print_speed("sum by all threads, in eight places each", 4 * size, [&] { sums[3] = sum<8>(numbers, threads); });

  // The triad reads two thirds of the numbers and writes the last one.
  const std::size_t third = size / 3;
  const auto a = numbers.first(third), b = numbers.subspan(third, third), out = numbers.subspan(2 * third, third);
  print_speed("triad by all threads", 12 * third, [&] { triad(a, b, out, threads); });
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < third; ++i) wrong += out[i] != static_cast<Number>(i + 3 * (third + i));

  cookbook::Checks checks;
  const auto expected = static_cast<Number>(std::uint64_t{size} * (size - 1) / 2);  // 0 + 1 + 2 + ... + (size - 1)
  checks.equal("the four sums, modulo 2^32", sums, std::vector<Number>(4, expected));
  checks.equal("wrong results of the triad", wrong, 0U);
  return checks.exit_code();
}

// Memory bandwidth
//
// To add up numbers that lie in memory, a processor has to fetch four bytes for each addition, and memory is slower
// than the addition. So the question is how to fetch faster: first one thread reads from front to end, then all threads
// read a block each, then each thread reads its block in turn from eight places. A triad, a + 3 b, writes as well. The
// functions are in streams.hpp; memory_bandwidth_bench measures them more carefully, beside libraries.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/02_threads/memory_bandwidth/memory_bandwidth.cpp common/cookbook/*.cpp -lfmt -pthread -o memory_bandwidth
// Run:     memory_bandwidth [--numbers N] [--threads N]

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "streams.hpp"

int main(int argc, char** argv) {
  std::size_t size = 1 << 24;
  int threads = cookbook::allowed_processors();
  cookbook::Options options("Read and write at the speed of the memory");
  options.add("numbers", size, "numbers of each array, four bytes each", 1, std::size_t{1} << 31);
  options.add("threads", threads, "threads", 1, 1'024);
  options.parse(argc, argv);
  cookbook::require_memory(3.0 * sizeof(Number) * static_cast<double>(size), fmt::format("--numbers {}", size));

  // A std::vector would write zeros here, by this thread alone. So the arrays are plain memory, which nobody has
  // touched.
  const auto memory = std::make_unique_for_overwrite<Number[]>(3 * size);
  const std::span<Number> a(memory.get(), size), b(memory.get() + size, size), out(memory.get() + 2 * size, size);
  in_blocks(size, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      a[i] = static_cast<Number>(i);
      b[i] = static_cast<Number>(2 * i);
      out[i] = 0;
    }
  });

  // Prints how many bytes per second are read and written: the fastest of five runs.
  const auto print_speed = [&](const char* name, std::size_t bytes, auto run) {
    double seconds = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 5; ++i) {
      const cookbook::Stopwatch watch;
      run();
      seconds = std::min(seconds, watch.seconds());
    }
    cookbook::println("{}: {:.1f} GB/s", name, static_cast<double>(bytes) / seconds / 1e9);
  };
  Number one_thread = 0, all_threads = 0, eight_streams = 0;
  print_speed("sum by one thread", 4 * size, [&] { one_thread = sum<1>(a, 1); });
  print_speed("sum by all threads", 4 * size, [&] { all_threads = sum<1>(a, threads); });
  print_speed("sum by all threads, each in eight streams", 4 * size, [&] { eight_streams = sum<8>(a, threads); });
  print_speed("triad by all threads", 12 * size, [&] { triad(a, b, out, threads); });

  std::size_t wrong = 0;
  for (std::size_t i = 0; i < size; ++i) wrong += out[i] != static_cast<Number>(7 * i);
  const std::size_t n = size;
  const auto expected = static_cast<Number>(n % 2 ? (n - 1) / 2 * n : n / 2 * (n - 1));  // 0 + 1 + 2 + ... + (n - 1)

  cookbook::Checks checks;
  checks.equal("sum by one thread", one_thread, expected);
  checks.equal("sum by all threads", all_threads, expected);
  checks.equal("sum by all threads, each in eight streams", eight_streams, expected);
  checks.equal("wrong results of the triad", wrong, 0U);
  return checks.exit_code();
}

// Memory bandwidth
//
// To add up numbers that lie in memory, a processor has to fetch four bytes for each addition, and memory is slower
// than the addition. So the question is how to fetch faster: first one thread reads from front to end, then all threads
// read a block each, then each thread reads its block in eight places at once. A triad, a + 3 b, writes as well. The
// functions are in streams.hpp; memory_bandwidth_bench shows how fast each of them is.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/02_threads/memory_bandwidth/memory_bandwidth.cpp common/cookbook/*.cpp -lfmt -pthread -o memory_bandwidth
// Run:     memory_bandwidth [--numbers N] [--threads N]

#include <memory>
#include <span>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/pin.hpp"
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
  cookbook::println(
      "3 arrays of {} numbers; a sum reads 4 bytes per addition, a triad reads 8 and writes 4 bytes per result", size);

  const Number one_thread = sum<1>(a, 1);
  const Number all_threads = sum<1>(a, threads);
  const Number eight_streams = sum<8>(a, threads);
  triad(a, b, out, threads);

  std::size_t wrong = 0;
  for (std::size_t i = 0; i < size; ++i) wrong += out[i] != static_cast<Number>(7 * i);

  cookbook::Checks checks;
  const Number expected =
      static_cast<Number>(size % 2 ? (size - 1) / 2 * size : size / 2 * (size - 1));  // 0 + 1 + 2 ...
  checks.equal("sum by one thread", one_thread, expected);
  checks.equal("sum by all threads", all_threads, expected);
  checks.equal("sum by all threads, each in eight streams", eight_streams, expected);
  checks.equal("wrong results of the triad", wrong, 0U);
  return checks.exit_code();
}

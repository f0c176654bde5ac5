// Memory latency, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/01_getting_started/memory_latency/memory_latency_bench.cpp common/cookbook/*.cpp -lhwloc -lfmt -o memory_latency_bench
// Run:     memory_latency_bench [--largest MIB] [--rounds N]

#include <span>
#include <string>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "machine.hpp"
#include "pages.hpp"
#include "ring.hpp"

int main(int argc, char** argv) {
  std::size_t mebibytes = 256;
  int rounds = 9;
  cookbook::Options options("Measure how far away memory is, for a plot");
  options.add("largest", mebibytes, "memory of the longest ring, in MiB", 1, 16'384);
  options.add("rounds", rounds, "times that each ring is walked along", 1, 1'000);
  options.parse(argc, argv);
  const std::size_t largest = mebibytes << 20;
  cookbook::require_memory(2.1 * static_cast<double>(largest), fmt::format("--largest {}", mebibytes));
  cookbook::pin(0);

  static constexpr long steps = 50'000;
  int broken = 0;
  const PagedMemory small_pages(largest, false), large_pages(largest, true);
  std::string caches;
  for (const Cache& cache : Machine().caches()) {
    caches += fmt::format("{}L{} {}", caches.empty() ? "" : ", ", cache.level, bytes_text(cache.bytes));
  }
  cookbook::Figures figures("time of a load; " + caches, cookbook::cost("ns", 1e-9));
  const auto add = [&](const std::string& order, const PagedMemory& memory, auto join, std::size_t bytes) {
    const std::span lines(static_cast<Line*>(memory.data()), bytes / sizeof(Line));
    join(lines);
    broken += !is_one_ring(lines);  // also loads the lines into the caches
    const cookbook::Benchmark row("walk", steps, [line = static_cast<const Line*>(lines.data())]() mutable {
      line = walk(line, steps);
      cookbook::do_not_optimize(line);
    });
    figures.add(order + ", " + bytes_text(bytes), cookbook::run_interleaved({row}, rounds).front(), steps);
  };
  for (std::size_t bytes = 8 << 10; bytes <= largest; bytes *= 2) {
    for (const std::size_t size : {bytes / 4 * 3, bytes}) {
      add("in order", small_pages, join_in_order, size);
      add("at random", small_pages, join_at_random, size);
      add("large pages", large_pages, join_at_random, size);
    }
  }
  cookbook::Checks checks;
  checks.equal("rings that do not pass every line once", broken, 0);
  figures.print(checks);
  return checks.exit_code();
}

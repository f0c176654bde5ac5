// Memory latency
//
// How long does a processor wait for a number from memory? The program walks along a ring of cache lines, each of which
// says where the next one is, so that no load can begin before the previous one has ended. The more memory the ring
// takes, the farther away its lines are: in random order the time of a step rises where a cache is full. In the order
// of memory it rises much less, since the processor guesses the next line and loads it ahead. Pages of 2 MiB show how
// much of the time is spent looking for the line's address.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/memory_latency/memory_latency.cpp common/cookbook/*.cpp -lhwloc -lfmt -o memory_latency
// Run:     memory_latency [--largest MIB]

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "machine.hpp"
#include "pages.hpp"
#include "ring.hpp"

namespace {

/// The time of a step in nanoseconds: the shortest of five walks, since other programs only ever add to a time.
double nanoseconds_per_step(const Line* line) {
  constexpr long steps = 20'000;
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const cookbook::Stopwatch watch;
    line = walk(line, steps);  // goes on where the last walk ended
    cookbook::do_not_optimize(line);
    shortest = std::min(shortest, watch.seconds());
  }
  return shortest / steps * 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t mebibytes = 64;
  cookbook::Options options("Measure how far away memory is");
  options.add("largest", mebibytes, "memory of the longest ring, in MiB", 1, 16'384);
  options.parse(argc, argv);
  const std::size_t largest = mebibytes << 20;
  cookbook::require_memory(2.1 * static_cast<double>(largest), fmt::format("--largest {}", mebibytes));
  cookbook::pin(0);  // on one processor, whose caches then stay the same

  int broken = 0;
  const PagedMemory small_pages(largest, false), large_pages(largest, true);
  const std::vector<Cache> caches = Machine().caches();
  cookbook::println("memory in use   in order  at random  at random, 2 MiB pages  fits into");
  for (std::size_t bytes = 4 << 10; bytes <= largest; bytes *= 4) {
    const auto measured = [&](const PagedMemory& memory, void (*join)(std::span<Line>)) {
      const std::span lines(static_cast<Line*>(memory.data()), bytes / sizeof(Line));
      join(lines);
      broken += !is_one_ring(lines);  // also loads the lines into the caches
      return nanoseconds_per_step(lines.data());
    };
    const double in_order = measured(small_pages, join_in_order), at_random = measured(small_pages, join_at_random),
                 in_large_pages = measured(large_pages, join_at_random);
    cookbook::println("{:>13}  {:6.1f} ns  {:6.1f} ns  {:19.1f} ns  {}", bytes_text(bytes), in_order, at_random,
                      in_large_pages, fits_into(bytes, caches));
  }

  cookbook::Checks checks;
  checks.equal("rings that do not pass every line once", broken, 0);
  return checks.exit_code();
}

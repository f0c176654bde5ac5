// Memory latency
//
// How long does a processor wait for a number from memory? The program walks along a ring of cache lines, each of which
// says where the next one is, so that no load can begin before the previous one has ended. The more memory the ring
// takes, the farther away its lines are: in random order the time of a step rises where a cache is full. In the order
// of memory it rises much less, since the processor guesses the next line and loads it ahead.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/memory_latency/memory_latency.cpp common/cookbook/*.cpp -lhwloc -lfmt -o memory_latency
// Run:     memory_latency [--largest MIB] [--large-pages] [--nodes]

#include <algorithm>
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
  double shortest = 1;  // a second, longer than any walk
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
  bool large_pages = false, nodes = false;
  cookbook::Options options("Measure how far away memory is");
  options.add("largest", mebibytes, "memory of the longest ring, in MiB", 1, 16'384);
  options.add_flag("large-pages", large_pages, "ask for pages of 2 MiB");
  options.add_flag("nodes", nodes, "at the end, the largest memory again, from each of the machine's nodes");
  options.parse(argc, argv);
  const std::size_t largest = mebibytes << 20;
  cookbook::require_memory(1.1 * static_cast<double>(largest), fmt::format("--largest {}", mebibytes));
  cookbook::pin(0);  // on one processor, whose caches then stay the same

  int broken = 0;
  const PagedMemory memory(largest, large_pages);
  const Machine machine;
  const std::vector<Cache> caches = machine.caches();
  const auto measured = [&](std::span<Line> lines, void (*join)(std::span<Line>)) {
    join(lines);
    broken += !is_one_ring(lines);  // also loads the lines into the caches
    return nanoseconds_per_step(lines.data());
  };
  cookbook::println("memory in use   in order  at random  fits into");
  for (std::size_t bytes = 4 << 10; bytes <= largest; bytes *= 4) {
    const std::span lines(static_cast<Line*>(memory.data()), bytes / sizeof(Line));
    const double in_order = measured(lines, join_in_order), at_random = measured(lines, join_at_random);
    cookbook::println("{:>13}  {:6.1f} ns  {:6.1f} ns  {}", bytes_text(bytes), in_order, at_random,
                      fits_into(bytes, caches));
  }
  const std::span all(static_cast<Line*>(memory.data()), largest / sizeof(Line));
  for (int node = 0; nodes && node < machine.nodes(); ++node) {
    const bool moved = machine.move(memory.data(), largest, node);
    cookbook::println("{:>13}{:11}  {:>9}  memory of node {}", bytes_text(largest), "",
                      moved ? fmt::format("{:6.1f} ns", measured(all, join_at_random)) : "refused", node);
  }

  cookbook::Checks checks;
  checks.equal("rings that do not pass every line once", broken, 0);
  return checks.exit_code();
}

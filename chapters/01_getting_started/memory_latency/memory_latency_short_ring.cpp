// Pitfall: lines that do not make one ring
//
// Each line says where to go next, at random, but nothing ensures that the lines make one ring. The walk soon
// comes to a line where it has been, and from then on it goes round in a small circle, here of 129 lines. What one
// measures is not the latency of 64 MiB, but that of a cache.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/memory_latency/memory_latency_short_ring.cpp common/cookbook/*.cpp -lfmt -o memory_latency_short_ring
// Run:     memory_latency_short_ring
// Symptom: exit 1, prints "the walk visits 536"

#include <cstddef>
#include <random>
#include <vector>

#include "cookbook/measure.hpp"
#include "cookbook/print.hpp"
#include "ring.hpp"

int main() {
  std::vector<Line> lines(1 << 20);
  std::mt19937_64 random(1);
  for (Line& line : lines) line.next = &lines[random() % lines.size()];  // wrong: several lines may name the same one

  std::vector<bool> visited(lines.size());
  std::size_t count = 0;
  for (std::size_t i = 0; !visited[i]; i = static_cast<std::size_t>(lines[i].next - lines.data())) {
    visited[i] = true;
    ++count;
  }
  cookbook::println("of {} lines the walk visits {}", lines.size(), count);
  const cookbook::Stopwatch watch;
  cookbook::do_not_optimize(walk(lines.data(), 1'000'000));
  cookbook::println("a step takes {:.1f} ns", watch.seconds() / 1e6 * 1e9);
  return count == lines.size() ? 0 : 1;
}

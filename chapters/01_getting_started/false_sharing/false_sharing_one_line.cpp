// Pitfall: the counters of several threads lie in one cache line
//
// Four threads count, each in a counter of its own, and no count is lost. But the counters are elements of one array,
// with eight bytes each, so they lie side by side in memory. A core that writes to its counter takes the line with all
// of them away from the other cores. The addresses show it.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/false_sharing/false_sharing_one_line.cpp -pthread -o false_sharing_one_line
// Run:     false_sharing_one_line
// Symptom: exit 1, prints "counters share a cache line"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <set>
#include <thread>
#include <vector>

struct Counter {
  std::atomic<long> value = 0;  // wrong: nothing keeps it apart from the next counter
};

int main() {
  std::array<Counter, 4> counters;
  std::vector<std::jthread> threads;
  for (Counter& counter : counters) {
    threads.emplace_back([&counter] {
      for (int i = 0; i < 1'000'000; ++i) counter.value.fetch_add(1, std::memory_order_relaxed);
    });
  }
  threads.clear();  // joins

  long sum = 0;
  std::set<std::uintptr_t> lines;
  for (const Counter& counter : counters) {
    sum += counter.value;
    lines.insert(reinterpret_cast<std::uintptr_t>(&counter.value) / 64);  // bytes of a line; Apple: 128
  }
  const bool apart = lines.size() == counters.size();
  std::printf("%ld counted, %s\n", sum, apart ? "each counter in a line of its own" : "counters share a cache line");
  return apart ? 0 : 1;
}

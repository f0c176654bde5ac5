// Latch and barrier, one thread gone early
//
// Three threads share a barrier for two phases, but one of them is done after the first and simply returns. The barrier
// goes on counting on it: the other two wait for ever. arrive_and_drop() as its last call would have cured it.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/latch_and_barrier/latch_and_barrier_early.cpp -o latch_and_barrier_early
// Run:     latch_and_barrier_early
// Symptom: hangs

#include <barrier>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
  int phase = 0;
  std::barrier barrier(3, [&phase]() noexcept {
    std::printf("phase %d is over\n", ++phase);
    std::fflush(stdout);
  });
  std::vector<std::jthread> threads;
  for (const int phases : {2, 2, 1}) {
    threads.emplace_back([&barrier, phases] {
      for (int i = 0; i < phases; ++i) barrier.arrive_and_wait();
    });
  }
}

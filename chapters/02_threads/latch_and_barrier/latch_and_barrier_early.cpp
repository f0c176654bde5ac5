// Pitfall: a thread that ends before the last phase
//
// Three threads share a barrier. One of them is done after the first phase and returns. The barrier goes on counting on
// three arrivals per phase, so the other two wait for ever. The last call of a thread that leaves before the others
// must be arrive_and_drop(): it arrives, and is not counted on in later phases.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/latch_and_barrier/latch_and_barrier_early.cpp -pthread -o latch_and_barrier_early
// Run:     latch_and_barrier_early, then Ctrl-C
// Symptom: hangs

#include <barrier>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
  constexpr int last_phase = 2;
  int phase = 0;
  std::barrier barrier(3, [&phase]() noexcept {
    std::printf("phase %d is over\n", ++phase);
    std::fflush(stdout);
  });
  std::vector<std::jthread> threads;
  for (const int phases : {last_phase, last_phase, 1}) {
    threads.emplace_back([&barrier, phases] {
      for (int i = 0; i < phases; ++i) barrier.arrive_and_wait();
      // Missing for the third thread: barrier.arrive_and_drop() instead of its last arrive_and_wait()
    });
  }
  threads.clear();  // waits for them
  std::printf("%d phases in all\n", phase);
}

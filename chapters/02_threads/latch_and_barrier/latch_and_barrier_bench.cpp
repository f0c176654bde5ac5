// What a phase costs
//
// Threads do nothing but wait for each other, phase after phase: at a std::barrier, at a std::latch of its own for each
// phase, and at a barrier made of a mutex and a condition variable. The last row makes new threads for every phase and
// joins them, which needs no barrier. The threads of the other rows are kept on one processor each.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/latch_and_barrier/latch_and_barrier_bench.cpp common/cookbook/*.cpp -lfmt -pthread -o latch_and_barrier_bench
// Run:     latch_and_barrier_bench [--threads N] [--phases N] [--rounds N]

#include <atomic>
#include <barrier>
#include <deque>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "hand_made_barrier.hpp"

namespace {

/// Lets all threads call wait(phase) for each phase, and returns the seconds from the first phase to the end of the
/// last one. The threads are made before, and one of them holds the watch.
template <typename Wait>
double seconds_of(int threads, int phases, Wait wait) {
  double seconds = 0;
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      cookbook::pin(i);
      wait(0);  // until all are there
      const cookbook::Stopwatch watch;
      for (int phase = 1; phase <= phases; ++phase) wait(phase);
      if (i == 0) seconds = watch.seconds();
    });
  }
  workers.clear();
  return seconds;
}

template <typename Barrier>
double seconds_with_barrier(int threads, int phases) {
  Barrier barrier(threads);
  return seconds_of(threads, phases, [&](int) { barrier.arrive_and_wait(); });
}

double seconds_with_latches(int threads, int phases) {
  std::deque<std::latch> latches;  // a latch cannot be closed again, and cannot be moved
  for (int i = 0; i <= phases; ++i) latches.emplace_back(threads);
  return seconds_of(threads, phases, [&](int phase) { latches[phase].arrive_and_wait(); });
}

double seconds_with_new_threads(int threads, int phases) {
  const cookbook::Stopwatch watch;
  for (int phase = 0; phase < phases; ++phase) {
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back([] {});
  }
  return watch.seconds();
}

/// How many arrivals were wrong: a thread was let through while another had not come yet.
template <typename Barrier>
int wrong_arrivals(int threads, int phases) {
  Barrier barrier(threads);
  std::vector<std::atomic<int>> come(phases + 1);
  std::atomic<int> wrong = 0;
  seconds_of(threads, phases, [&](int phase) {
    ++come[phase];
    barrier.arrive_and_wait();
    wrong += come[phase] != threads;
  });
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 2, phases = 1000, rounds = 11;
  cookbook::Options options("Measure what a phase costs with barriers, latches and new threads");
  options.add("threads", threads, "threads that wait for each other", 2, 64);
  options.add("phases", phases, "phases that are timed together", 10, 1'000'000);
  options.add("rounds", rounds, "rounds in which each row is measured once", 1, 1000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  checks.equal("threads let through too early, std::barrier", wrong_arrivals<std::barrier<>>(threads, phases), 0);
  checks.equal("threads let through too early, by hand", wrong_arrivals<HandMadeBarrier>(threads, phases), 0);

  cookbook::Figures figures(fmt::format("one phase of {} threads", threads), cookbook::cost("us", 1e-6));
  const double amount = phases;
  figures.measure({{"std::barrier", amount, [=] { return seconds_with_barrier<std::barrier<>>(threads, phases); }},
                   {"a std::latch per phase", amount, [=] { return seconds_with_latches(threads, phases); }},
                   {"by hand: mutex, condition variable", amount,
                    [=] { return seconds_with_barrier<HandMadeBarrier>(threads, phases); }},
                   {"new threads per phase", amount, [=] { return seconds_with_new_threads(threads, phases); }}},
                  rounds);
  figures.speedup_over("std::barrier", "barrier");
  figures.print(checks);
  return checks.exit_code();
}

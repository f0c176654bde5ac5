/// How the recipe times its waits: signals between two threads bound to processors, and calls that need not wait.
#pragma once

#include <sched.h>

#include <thread>

#include "cookbook/measure.hpp"
#include "cookbook/print.hpp"

namespace wake_cost {

enum class Processor { first, last };

/// Binds the calling thread to the first or the last processor that the program may use.
inline void bind_to(Processor which) {
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) cookbook::system_refused("sched_getaffinity");
  int chosen = -1;
  for (int i = 0; i < CPU_SETSIZE && (which == Processor::last || chosen < 0); ++i) {
    if (CPU_ISSET(i, &allowed)) chosen = i;
  }
  CPU_ZERO(&one);
  CPU_SET(chosen, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) cookbook::system_refused("sched_setaffinity");
}

constexpr int repeats = 5;     ///< timed runs, after one to warm up
constexpr int trips = 100;     ///< signals there and back in one timed run
constexpr int calls = 50'000;  ///< calls in one timed run that does not wait

/// Times `trips` signals there and back between two threads, on two processors or both on one.
template <typename Signal>
cookbook::Timing there_and_back(bool two_processors, auto... start) {
  Signal there(start...), back(start...);
  cookbook::Timing timing;
  std::jthread answers([&] {
    bind_to(Processor::first);
    for (int i = 0; i < (1 + repeats) * trips; ++i) {
      there.acquire();
      back.release();
    }
  });
  std::jthread asks([&] {
    bind_to(two_processors ? Processor::last : Processor::first);
    const auto ask = [&] {
      for (int i = 0; i < trips; ++i) {
        there.release();
        back.acquire();
      }
    };
    timing = cookbook::measure(ask, repeats, 1);
  });
  answers.join();
  asks.join();
  return timing;
}

/// Times taking and giving back a free permit, in a thread on its own.
template <typename Take, typename GiveBack>
cookbook::Timing alone(Take take, GiveBack give_back) {
  const auto call = [&] {
    for (int i = 0; i < calls; ++i) {
      take();
      give_back();
    }
  };
  return cookbook::measure(call, repeats, 1);
}

}  // namespace wake_cost

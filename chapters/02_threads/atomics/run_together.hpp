/// Running threads so that they really meet.
#pragma once

#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "cookbook/print.hpp"
#include "spin_lock.hpp"

namespace atomics {

/// Keeps the calling thread on the core with this number among those that the process may use, counted round.
inline void stay_on_core(int number) {
  cpu_set_t allowed, chosen;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) cookbook::system_refused("sched_getaffinity");
  int to_skip = number % CPU_COUNT(&allowed);
  int core = 0;
  while (!CPU_ISSET(core, &allowed) || to_skip-- > 0) ++core;
  CPU_ZERO(&chosen);
  CPU_SET(core, &chosen);
  if (sched_setaffinity(0, sizeof chosen, &chosen) != 0) cookbook::system_refused("sched_setaffinity");
}

/// Runs task(0), task(1) and so on, each in a thread of its own, and waits for all. They start together and spread over
/// the cores: left to itself, a short thread has ended before the next one starts, or shares a core and takes turns
/// with it, and what these programs are about never happens.
template <typename Task>
void run_together(int threads, Task task) {
  std::atomic<int> missing = threads;
  std::vector<std::jthread> running;
  for (int number = 0; number < threads; ++number) {
    running.emplace_back([&, number] {
      stay_on_core(number);
      // relaxed: a count of who is there, which guards no data.
      missing.fetch_sub(1, std::memory_order_relaxed);
      spin_until([&] { return missing.load(std::memory_order_relaxed) == 0; });
      task(number);
    });
  }
}

}  // namespace atomics

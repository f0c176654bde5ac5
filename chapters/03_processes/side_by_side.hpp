/// Two processes at work at the same time, on a processor each, for measuring what goes between them.
#pragma once

#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>

#include "child.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/system_check.hpp"
#include "shared_memory.hpp"

/// This process stays on one processor, the first or the second of those that it may use. Else the system may put both
/// sides on one, where no cache line ever moves.
inline void stay_on_processor(int which) {
  cpu_set_t allowed, one;
  check(sched_getaffinity(0, sizeof allowed, &allowed), "sched_getaffinity");
  for (int cpu = 0, rank = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || rank++ != which % CPU_COUNT(&allowed)) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
  }
  check(sched_setaffinity(0, sizeof one, &one), "sched_setaffinity");
}

/// Runs both in a child each, at once; the seconds that `second` took. Adds to `failures` who fails, or finds a fault.
inline double seconds_together(const std::function<bool()>& first, const std::function<bool()>& second, int& failures) {
  struct Start {
    std::atomic<int> ready = 0;
    double seconds = 0;
  };
  const Shared<Start> start;
  const auto meet = [&] {
    for (++start->ready; start->ready < 2;) std::this_thread::yield();
  };
  const pid_t one = start_child([&] {
    stay_on_processor(0);
    meet();
    return first() ? 0 : 1;
  });
  const pid_t two = start_child([&] {
    stay_on_processor(1);
    meet();
    const cookbook::Stopwatch watch;
    const bool good = second();
    start->seconds = watch.seconds();
    return good ? 0 : 1;
  });
  failures += exit_code_of(two) != 0;
  failures += exit_code_of(one) != 0;
  return start->seconds;
}

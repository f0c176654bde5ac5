/// Two processes at work at the same time, on a processor each, for measuring what goes between them.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "child.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/pin.hpp"
#include "shared_memory.hpp"

/// Runs both in a child each, at once; the seconds that `second` took. Adds to `failures` who fails, or finds a fault.
/// Each stays on one processor: else the system may put both sides on one, where no cache line ever moves.
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
    cookbook::pin(0);
    meet();
    return first() ? 0 : 1;
  });
  const pid_t two = start_child([&] {
    cookbook::pin(1);
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

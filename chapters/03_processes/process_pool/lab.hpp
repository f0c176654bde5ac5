/// The tasks of this recipe, and the memory in which they leave their traces.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include "../process_synchronisation/primitives.hpp"  // Event
#include "child.hpp"

constexpr auto timeout = std::chrono::seconds(10);  // after so long a process that has not come is taken for dead

/// Shared by the caller and the workers, and made before them.
struct Lab {
  static constexpr long max_tasks = 10'000;

  Event gate;                              ///< for tasks that must not end yet
  std::atomic<int> begun[max_tasks] = {};  ///< how often each task was begun
  std::atomic<int> slow_ones = 0;          ///< how many tasks of square_slowly were
};
inline Lab* lab = nullptr;

inline long square(long x) { return x * x; }

inline long square_at_the_gate(long x) {
  if (!lab->gate.wait_for(timeout)) throw std::runtime_error("nobody has opened the gate");
  return x * x;
}

/// Takes another time for each x, later ones often less.
inline long square_some_time(long x) {
  std::this_thread::sleep_for(std::chrono::microseconds(x * 7919 % 13 * 50));
  return x * x;
}

inline pid_t worker_id(long x) {
  square_some_time(x);
  return getpid();
}

inline long square_but_not_of_42(long x) {
  if (x == 42) throw std::runtime_error("42 has no square");
  return x * x;
}

/// Ends its own worker at every tenth number, the first time that it is asked for it.
inline long square_or_die(long x) {
  if (lab->begun[x]++ == 0 && x % 10 == 7) kill(getpid(), SIGKILL);
  return x * x;
}

/// Ends its worker whenever it is asked for 5.
inline long square_or_always_die(long x) {
  ++lab->begun[x];
  if (x == 5) kill(getpid(), SIGKILL);
  return x * x;
}

/// Takes long enough to be hit.
inline long square_slowly(long x) {
  ++lab->begun[x];
  ++lab->slow_ones;
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  return x * x;
}

/// What a phase costs that is nothing but waiting, with each kind of barrier.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <barrier>
#include <deque>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"
#include "hand_made.hpp"

constexpr int phases = 100;
constexpr int repeats = 9;

/// Keeps the calling thread on one of the cores that the program may use: the first for 0, the next for 1, and so on.
inline void stay_on_core(int index) {
  cpu_set_t allowed, mine;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) cookbook::system_refused("sched_getaffinity");
  int left = index % CPU_COUNT(&allowed);
  int core = 0;
  while (!CPU_ISSET(core, &allowed) || left-- > 0) ++core;
  CPU_ZERO(&mine);
  CPU_SET(core, &mine);
  if (sched_setaffinity(0, sizeof mine, &mine) != 0) cookbook::system_refused("sched_setaffinity");
}

/// For scale: a cache line goes from the core of thread 0 to that of thread 1 and comes back, and nobody sleeps.
inline void there_and_back(std::atomic<int>& ball, int thread, int phase) {
  const auto look_for = [&ball](int value) {
    for (int looks = 1; ball.load(std::memory_order_acquire) != value; ++looks) {
      if (looks % 100'000 == 0) std::this_thread::yield();  // the two may have to share a core
    }
  };
  const int there = 2 * phase + 1, back = 2 * phase + 2;
  if (thread == 1) look_for(there);
  ball.store(thread == 0 ? there : back, std::memory_order_release);
  if (thread == 0) look_for(back);
}

/// The time of `phases` phases, in each of which all threads call wait(thread, phase). The first of them holds the
/// watch, so that making the threads is not measured.
template <typename Wait>
cookbook::Timing time_phases(int threads, bool a_core_each, Wait wait) {
  std::vector<double> seconds;
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      if (a_core_each) stay_on_core(i);
      for (int repeat = 0; repeat <= repeats; ++repeat) {
        const cookbook::Stopwatch watch;
        for (int phase = 0; phase < phases; ++phase) wait(i, repeat * phases + phase);
        if (i == 0 && repeat > 0) seconds.push_back(watch.seconds());  // the first one warms up
      }
    });
  }
  for (std::jthread& worker : workers) worker.join();
  return cookbook::timing_of(seconds);
}

/// Prints a row for each kind of barrier.
inline void print_phase_costs(const cookbook::Verdict& verdict, std::string_view title, int threads, bool a_core_each) {
  cookbook::Figures figures(title, cookbook::cost("us", 1e-6));
  const auto time = [&](auto wait) { return time_phases(threads, a_core_each, wait); };
  if (threads == 2) {
    std::atomic<int> ball = 0;
    figures.add("a cache line there and back", time([&](int i, int phase) { there_and_back(ball, i, phase); }), phases);
  }
  std::barrier library(threads);
  figures.add_peer("std::barrier", time([&](int, int) { library.arrive_and_wait(); }), phases);
  std::deque<std::latch> latches;  // a latch opens once, so each phase needs its own
  for (int i = 0; i < phases * (repeats + 1); ++i) latches.emplace_back(threads);
  figures.add("a std::latch for each phase",
              time([&](int, int phase) { latches[static_cast<std::size_t>(phase)].arrive_and_wait(); }), phases);
  SleepingBarrier sleeping(threads, [] {});
  figures.add("by hand, sleeps: mutex, condition variable", time([&](int, int) { sleeping.arrive_and_wait(); }),
              phases);
  LookingBarrier looking(threads, [] {});
  figures.add("by hand, looks first, then sleeps", time([&](int, int) { looking.arrive_and_wait(); }), phases);
  figures.print(verdict);
}

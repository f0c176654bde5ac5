/// Litmus tests: programs of two threads with two steps each, run again and again, to see which results come out.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/affinity.hpp"

using Order = std::memory_order;
constexpr Order relaxed = std::memory_order_relaxed, acquire = std::memory_order_acquire,
                release = std::memory_order_release, seq_cst = std::memory_order_seq_cst;

/// The variables of one run. x and y are shared and start from 0, each in a cache line of its own; r1 and r2 are what
/// the threads have loaded.
struct Variables {
  alignas(64) std::atomic<int> x = 0;
  alignas(64) std::atomic<int> y = 0;
  alignas(64) int r1 = 0;
  alignas(64) int r2 = 0;

  std::pair<int, int> outcome() const { return {r1, r2}; }
};
using Outcomes = std::set<std::pair<int, int>>;

/// What stands between the two steps of a thread.
inline void nothing() {}
inline void compiler_fence() { std::atomic_signal_fence(std::memory_order_seq_cst); }
inline void full_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

// Each test has the steps a1 and a2 of thread A, and b1 and b2 of thread B.

/// Each thread stores to its own variable, and loads that of the other.
template <Order store_order, Order load_order, void (*between)() = nothing>
struct StoreBuffering {
  static void a1(Variables& v) { v.x.store(1, store_order); }
  static void a2(Variables& v) { v.r1 = v.y.load(load_order); }
  static void b1(Variables& v) { v.y.store(1, store_order); }
  static void b2(Variables& v) { v.r2 = v.x.load(load_order); }
  static void fence() { between(); }
};

/// A stores a message in x, and then a flag in y. B loads the flag, and then the message.
template <Order store_order, Order load_order>
struct MessagePassing {
  static void a1(Variables& v) { v.x.store(1, relaxed); }
  static void a2(Variables& v) { v.y.store(1, store_order); }
  static void b1(Variables& v) { v.r1 = v.y.load(load_order); }
  static void b2(Variables& v) { v.r2 = v.x.load(relaxed); }
  static void fence() {}
};

/// Each thread loads one variable, and then stores to that which the other one loads.
template <Order store_order, Order load_order>
struct LoadBuffering {
  static void a1(Variables& v) { v.r1 = v.x.load(load_order); }
  static void a2(Variables& v) { v.y.store(1, store_order); }
  static void b1(Variables& v) { v.r2 = v.y.load(load_order); }
  static void b2(Variables& v) { v.x.store(1, store_order); }
  static void fence() {}
};

/// The outcomes of a test's six schedules: orders of the four steps that keep the order of each thread.
template <typename Test>
Outcomes outcomes_of_schedules() {
  Outcomes outcomes;
  for (const std::string schedule : {"AABB", "ABAB", "ABBA", "BAAB", "BABA", "BBAA"}) {
    Variables v;
    int a = 0, b = 0;
    for (const char thread : schedule) {
      if (thread == 'A') (a++ == 0 ? Test::a1 : Test::a2)(v);
      if (thread == 'B') (b++ == 0 ? Test::b1 : Test::b2)(v);
    }
    outcomes.insert(v.outcome());
  }
  return outcomes;
}

/// Lets two threads begin at the same time. They spin: a thread that sleeps would begin microseconds later.
class SpinBarrier {
 public:
  void arrive_and_wait(int& meetings) {
    ++meetings;
    ++arrived_;
    for (int spins = 1; arrived_ < 2 * meetings; ++spins) {
      if (spins % 1'000 == 0) std::this_thread::yield();  // another program may need this processor
    }
  }

 private:
  std::atomic<int> arrived_ = 0;
};

/// Counts of the runs of a test in two threads.
struct Counts {
  long runs = 0;
  long weak = 0;      // with an outcome that no schedule has
  Outcomes outcomes;  // all that were seen
};

/// Runs the test `runs` times, rounded up to whole blocks. Both threads go through a block of variables side by side,
/// and one of them then counts the outcomes.
template <typename Test>
Counts run_in_two_threads(long runs) {
  constexpr long block = 10'000;
  const Outcomes of_schedules = outcomes_of_schedules<Test>();
  const long blocks = (runs + block - 1) / block;
  std::vector<Variables> variables(block);
  SpinBarrier barrier;
  Counts counts;
  const auto thread_a = [&] {
    cookbook::pin(0);
    int meetings = 0;
    for (long i = 0; i < blocks; ++i) {
      barrier.arrive_and_wait(meetings);
      for (Variables& v : variables) {
        Test::a1(v);
        Test::fence();
        Test::a2(v);
      }
      barrier.arrive_and_wait(meetings);
    }
  };
  const auto thread_b = [&] {
    cookbook::pin(1);
    int meetings = 0;
    for (long i = 0; i < blocks; ++i) {
      barrier.arrive_and_wait(meetings);
      for (Variables& v : variables) {
        Test::b1(v);
        Test::fence();
        Test::b2(v);
      }
      barrier.arrive_and_wait(meetings);
      for (Variables& v : variables) {
        ++counts.runs;
        if (!of_schedules.contains(v.outcome())) ++counts.weak;
        counts.outcomes.insert(v.outcome());
        v.x = v.y = v.r1 = v.r2 = 0;
      }
    }
  };
  { std::jthread a(thread_a), b(thread_b); }
  return counts;
}

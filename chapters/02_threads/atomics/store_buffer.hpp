/// A test that tells sequential consistency from everything weaker.
#pragma once

#include <atomic>
#include <cstddef>
#include <numeric>
#include <vector>

#include "run_together.hpp"
#include "spin_lock.hpp"

namespace atomics {

/// The store-buffer test: each thread stores the round's number in its own flag, then loads the other's flag. Returns
/// the rounds in which each missed the other's store. No order of the four steps, one after another, explains that: in
/// each of them one of the loads comes last. The orders are template arguments, as the compiler must know them.
template <std::memory_order store, std::memory_order load>
long both_missed(long rounds) {
  struct Side {
    alignas(64) std::atomic<long> ready = 0;
    alignas(64) std::atomic<long> flag = 0;
    std::vector<char> missed;
  };
  Side left, right;
  const auto play = [rounds](Side& mine, Side& other) {
    mine.missed.resize(static_cast<std::size_t>(rounds));
    for (long round = 1; round <= rounds; ++round) {
      mine.ready.store(round, std::memory_order_release);
      spin_until([&] { return other.ready.load(std::memory_order_acquire) >= round; });
      mine.flag.store(round, store);
      mine.missed[static_cast<std::size_t>(round - 1)] = other.flag.load(load) < round;
    }
  };
  run_together(2, [&](int thread) { thread == 0 ? play(left, right) : play(right, left); });
  return std::inner_product(left.missed.begin(), left.missed.end(), right.missed.begin(), 0L);
}

}  // namespace atomics

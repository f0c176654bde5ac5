// Atomics, the ABA trap met by chance
//
// The stack of treiber_stack.hpp with a bare index as its head, shared by four threads. Each takes two nodes out and
// puts them back, the first one first. Nobody forces an order here, and still, soon, one thread's compare-exchange
// takes a head that went and came back for one that never moved, and two threads hold the same node.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/atomics/atomics_aba.cpp -pthread -o atomics_aba
// Run:     atomics_aba
// Symptom: exit 1, prints "two threads hold the same node"

#include <array>
#include <atomic>
#include <cstdio>
#include <random>
#include <thread>

#include "treiber_stack.hpp"

namespace {

atomics::TreiberStack<atomics::BareHead> stack(8);  // broken: CountedHead is the cure
std::array<std::atomic<bool>, 8> is_held{};
std::atomic<bool> seen = false;

void churn(unsigned seed) {
  std::minstd_rand chance(seed);
  // A thread may lose its core at any time, so also at the weak spot. The yield makes it happen more often.
  const auto lose_core = [&] {
    if (chance() % 8 == 0) std::this_thread::yield();
  };
  for (int i = 0; i < 1'000'000 && !seen; ++i) {
    const auto first = stack.pop(lose_core), second = stack.pop(lose_core);
    for (const auto node : {first, second}) {
      if (node && is_held[*node].exchange(true)) seen = true;
    }
    for (const auto node : {first, second}) {
      if (!node) continue;
      is_held[*node] = false;
      stack.push(*node);
    }
  }
}

}  // namespace

int main() {
  for (atomics::Index node = 0; node < is_held.size(); ++node) stack.push(node);
  { std::jthread one(churn, 1), two(churn, 2), three(churn, 3), four(churn, 4); }
  if (!seen) return 0;
  std::puts("two threads hold the same node");
  return 1;
}

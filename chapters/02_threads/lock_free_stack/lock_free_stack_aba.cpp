// Pitfall: a lock-free stack that looks at the top node alone
//
// Four threads share the stack with the bare head. Each takes two nodes out and puts them back. Soon one thread reads
// the top node and the one below it, and is interrupted; the others take both nodes and put the first one back. The
// thread goes on, finds the same node on top, and makes the other one, which somebody else has, the new top.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/lock_free_stack/lock_free_stack_aba.cpp -pthread -o lock_free_stack_aba
// Run:     lock_free_stack_aba
// Symptom: exit 1, prints "two threads have the same node"

#include <array>
#include <atomic>
#include <cstdio>
#include <random>
#include <thread>

#include "treiber_stack.hpp"

namespace {

TreiberStack<Head::bare> stack(8);  // wrong: it must be Head::counted
std::array<std::atomic<bool>, 8> is_taken{};
std::atomic<bool> seen = false;

void work(unsigned seed) {
  std::minstd_rand random(seed);
  const auto lose_core = [&] {
    if (random() % 8 == 0) std::this_thread::yield();  // can happen at any time; this makes it happen more often
  };
  for (int i = 0; i < 30'000 && !seen; ++i) {
    const auto first = stack.pop(lose_core), second = stack.pop(lose_core);
    for (const auto node : {first, second}) {
      if (node && is_taken[*node].exchange(true)) seen = true;
    }
    for (const auto node : {first, second}) {
      if (!node) continue;
      is_taken[*node] = false;
      stack.push(*node);
    }
  }
}

}  // namespace

int main() {
  for (Node node = 0; node < is_taken.size(); ++node) stack.push(node);
  { std::jthread one(work, 1), two(work, 2), three(work, 3), four(work, 4); }
  std::puts(seen ? "two threads have the same node" : "no two threads had the same node");
  return seen ? 1 : 0;
}

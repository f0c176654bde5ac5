// Pitfall: looking at the lock and taking it are two steps
//
// Both threads may see that the lock is free before one of them takes it. Then both are inside. The two operations are
// atomic, each for itself; what the lock needs is one operation that does both, such as exchange().
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/spin_lock/spin_lock_two_steps.cpp -pthread -o spin_lock_two_steps
// Run:     spin_lock_two_steps
// Symptom: exit 1, prints "two threads were inside at once"

#include <atomic>
#include <cstdio>
#include <thread>

namespace {

std::atomic<bool> taken = false;
std::atomic<int> inside = 0;
std::atomic<bool> seen_two = false;

// The system may take the core away at any time. Here that happens where it does harm.
void lose_core() { std::this_thread::yield(); }

void work() {
  for (int i = 0; i < 5'000 && !seen_two; ++i) {
    while (taken) lose_core();  // looks
    lose_core();                // wrong: the other thread may look now, too
    taken = true;               // takes
    if (++inside > 1) seen_two = true;
    lose_core();
    --inside;
    taken = false;
  }
}

}  // namespace

int main() {
  { std::jthread one(work), two(work); }
  std::puts(seen_two ? "two threads were inside at once" : "one thread was inside at a time");
  return seen_two ? 1 : 0;
}

// Pitfall: decrement and test in two steps
//
// There is one permit. This acquire() decrements the number, and then waits if it is negative. Thread 2 comes between
// the two steps of thread 1. Then both of them see -1, and both wait for ever, though nobody has the permit. A latch
// forces that order; without it the program would hang only now and then.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/semaphore/semaphore_two_steps.cpp -pthread -o semaphore_two_steps
// Run:     semaphore_two_steps, then Ctrl-C
// Symptom: hangs

#include <atomic>
#include <cstdio>
#include <latch>
#include <thread>

namespace {

std::atomic<int> permits = 1;
std::latch both_are_here(2);
int uses = 0;  // changed only by the thread that has the permit

void acquire(int thread) {
  --permits;                        // first step
  both_are_here.arrive_and_wait();  // the other thread does its first step, too
  const int seen = permits;         // second step: the number is no longer the one that this thread has made
  std::printf("thread %d tests %d and %s\n", thread, seen, seen < 0 ? "waits" : "goes on");
  std::fflush(stdout);
  if (seen < 0) permits.wait(seen);  // until the number changes
}

void release() {
  ++permits;
  permits.notify_one();
}

void use(int thread) {
  acquire(thread);
  std::printf("thread %d has the permit\n", thread);
  ++uses;
  release();
}

}  // namespace

int main() {
  { std::jthread first(use, 1), second(use, 2); }
  std::printf("the permit was used %d times, and the number is %d\n", uses, permits.load());
}

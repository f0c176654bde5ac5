// Pitfall: tasks of a pool wait for tasks of the same pool
//
// A pool of two workers gets two tasks. Each of them hands in a task of its own and waits for its result. Now both
// workers wait, and the two tasks that they wait for never begin, because no worker is left to run them.
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/thread_pool/thread_pool_waiting.cpp -pthread -o thread_pool_waiting
// Run:     thread_pool_waiting, then Ctrl-C
// Symptom: hangs

#include <cstdio>
#include <latch>

#include "thread_pool.hpp"

int main() {
  ThreadPool pool(2);
  std::latch both_have_a_worker(2);
  const auto twice = [&](int n) {
    both_have_a_worker.arrive_and_wait();  // so that it happens in every run, not only in some
    std::future<int> part = pool.submit([n] { return n; });
    return 2 * part.get();  // wrong: it keeps this worker from running anything else
  };
  std::future<int> first = pool.submit([&] { return twice(1); });
  std::future<int> second = pool.submit([&] { return twice(2); });
  std::puts("waiting for the results");
  std::fflush(stdout);
  std::printf("the sum of the results is %d\n", first.get() + second.get());
}

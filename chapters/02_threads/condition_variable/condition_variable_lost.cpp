// Pitfall: a notification is lost
//
// The producer notifies before the consumer waits. A condition variable remembers nothing: the notification wakes those
// who wait at that moment, and here nobody does. The consumer has no condition to test, so it then waits for ever. A
// latch forces that order; without it the program would hang in some runs only.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/condition_variable/condition_variable_lost.cpp -pthread -o condition_variable_lost
// Run:     condition_variable_lost, then Ctrl-C
// Symptom: hangs

#include <condition_variable>
#include <cstdio>
#include <latch>
#include <mutex>
#include <thread>

int main() {
  std::mutex mutex;
  std::condition_variable item_ready;
  std::latch notified(1);

  std::jthread consumer([&] {
    notified.wait();
    std::unique_lock lock(mutex);
    item_ready.wait(lock);  // wrong: no condition is tested
    std::puts("the consumer goes on");
  });
  item_ready.notify_one();
  std::puts("the producer has notified; the consumer begins to wait");
  std::fflush(stdout);
  notified.count_down();
}

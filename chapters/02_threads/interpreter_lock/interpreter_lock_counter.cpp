// Pitfall: the interpreter lock does not protect your data
//
// Two threads add to one counter. Only one of them runs at a time, so why a lock around the counter? Because
// `counter += one()` reads the counter, calls a function and stores the sum, and while the function runs, the
// interpreter lock can change hands. The thread that goes on later stores a sum that it has made of an old value, and
// overwrites all that the other one has added.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/interpreter_lock/interpreter_lock_counter.cpp -pthread -o interpreter_lock_counter
// Run:     interpreter_lock_counter
// Symptom: exit 1, prints "additions were lost"

#include <cstdio>
#include <thread>

#include "interpreter_lock.hpp"

int main() {
  constexpr long additions = 20'000;
  InterpreterLock gil;
  long counter = 0;

  const auto add = [&] {
    const std::scoped_lock hold(gil);
    for (long i = 0; i < additions; ++i) {
      const long value = counter;                               // counter += one() begins: the value is read,
      for (int step = 0; step < 100; ++step) gil.checkpoint();  // one() runs, and another thread may have a turn,
      counter = value + 1;                                      // and the sum is stored
    }
  };
  { std::jthread one(add), other(add); }

  const long lost = 2 * additions - counter;
  if (lost == 0) {
    std::printf("all of %ld additions were counted\n", 2 * additions);
    return 0;
  }
  std::printf("%ld of %ld additions were lost\n", lost, 2 * additions);
  return 1;
}

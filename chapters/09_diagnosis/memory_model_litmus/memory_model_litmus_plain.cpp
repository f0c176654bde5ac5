// Pitfall: the compiler moves a store and a load
//
// A thread stores a number in `data` and then the same number in `newest`, for 1, 2, 3 and so on. Another thread loads
// `newest` and then `data`, which should never be older. But `data` is a plain int. GCC stores it once, when the loop
// has ended, and loads it in main once, before the loop; either would be enough.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/memory_model_litmus/memory_model_litmus_plain.cpp common/cookbook/*.cpp -lfmt -pthread -o memory_model_litmus_plain
// Run:     memory_model_litmus_plain
// Symptom: exit 1, prints "the data was older than the flag"
// Symptom under thread: prints "data race"

#include <thread>

#include "cookbook/print.hpp"

namespace {

constexpr int last = 20'000'000;

int data = 0;             // wrong: two threads use it, and it is no atomic
volatile int newest = 0;  // wrong: volatile keeps this store where it is, but not the other one before it

void produce() {
  for (int i = 1; i <= last; ++i) {
    data = i;
    newest = i;
  }
}

}  // namespace

int main() {
  long older = 0;
  {
    std::jthread producer(produce);
    for (int seen = 0; seen != last;) {
      seen = newest;
      if (data < seen) ++older;
    }
  }
  cookbook::println("at the end: data {}, newest {}", data, newest);
  if (older == 0) {
    cookbook::println("the data was never older than the flag");
    return 0;
  }
  cookbook::println("the data was older than the flag");
  return 1;
}

// Pitfall: the thread is detached
//
// detach() lets the thread run without an object to join it by, so nothing crashes. But the process ends when main
// returns, and all of its threads end with it, wherever they are. Most of the ten greetings are never printed.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/first_thread/first_thread_detached.cpp -pthread -o first_thread_detached
// Run:     first_thread_detached
// Symptom: exit 1, prints "the others are never printed"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {

std::atomic<int> greetings = 0;  // global, so that it exists for as long as the thread may run

void greet() {
  while (greetings < 10) {
    std::puts("Hello Parallel C++ CookBook!!");
    ++greetings;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

int main() {
  std::thread(greet).detach();                                                      // wrong: nobody waits for it
  while (greetings < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // main has something else to do
  const int printed = greetings;
  std::printf("main returns after %d of 10 greetings%s\n", printed,
              printed < 10 ? "; the others are never printed" : "");
  return printed < 10 ? 1 : 0;
}

// Lock, left out
//
// The counter of lock.cpp with nothing around it: a plain long that two threads change at once. That is a data race,
// so the C++ standard gives this program no meaning at all. In practice updates are lost, and ThreadSanitizer names
// both threads, the variable and the two lines.
//
// Compile: g++ -std=c++20 -O1 -g -fsanitize=thread chapters/02_threads/lock/lock_race.cpp -o lock_race
// Run:     lock_race
// Symptom: exit 1, prints "updates were lost"
// Symptom under thread: prints "WARNING: ThreadSanitizer: data race"

#include <cstdio>
#include <thread>

namespace {

long counter = 0;

void change_often(long step) {
  for (int i = 0; i < 10'000'000; ++i) {
    counter += step;                // the race
    asm volatile("" ::: "memory");  // else the compiler adds everything up and stores once, and hides the race
  }
}

}  // namespace

int main() {
  std::jthread up(change_often, +1);
  std::jthread down(change_often, -1);
  up.join();
  down.join();
  std::printf("counter: %ld\n", counter);
  if (counter == 0) return 0;
  std::puts("updates were lost");
  return 1;
}

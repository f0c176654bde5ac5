// Pitfall: no lock
//
// Two threads change a plain long, and nothing keeps them apart. That is a data race, and C++ does not define what a
// program with a data race does. As a rule updates are lost. Compiled with -g -fsanitize=thread, the program reports
// both threads, the variable and the lines.
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
  for (int i = 0; i < 20'000'000; ++i) {  // the three steps of counter += step
    const long seen = counter;            // wrong: the other thread changes it at the same time
    asm volatile("" ::: "memory");        // no instruction; it keeps the compiler from making one addition of all
    counter = seen + step;
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

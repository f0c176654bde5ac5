// Pitfall: a pointer is sent as a message
//
// A worker process adds up, and sends the address of its sum. The number arrives unchanged, but an address means a
// place in the memory of one process. In the parent's memory this place is the parent's own sum, which is still 0.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/programming_models/programming_models_pointer.cpp -o programming_models_pointer
// Run:     programming_models_pointer
// Symptom: exit 1, prints "the parent finds the sum 0"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

int main() {
  volatile long sum = 0;  // volatile: the compiler must load it from memory each time
  int ends[2];
  if (pipe(ends) != 0) return 3;
  if (fork() == 0) {
    for (int i = 1; i <= 100; ++i) sum = sum + i;
    volatile long* const address = &sum;
    std::printf("the worker has the sum %ld\n", sum);
    std::fflush(stdout);
    _exit(write(ends[1], &address, sizeof address) == sizeof address ? 0 : 3);  // wrong: send the sum itself
  }
  volatile long* received = nullptr;
  if (read(ends[0], &received, sizeof received) != sizeof received) return 3;
  wait(nullptr);
  std::printf("the parent finds the sum %ld\n", *received);
  return *received == 5050 ? 0 : 1;
}

// Pitfall: the parent waits for the child before it reads the message
//
// A pipe holds only so much, on Linux usually 64 KiB. The child's message is larger, so its write waits until somebody
// reads. The parent reads only after the child has ended. Each waits for the other, for ever.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/memory_organisation/memory_organisation_wait_first.cpp -o memory_organisation_wait_first
// Run:     memory_organisation_wait_first, then Ctrl-C
// Symptom: hangs

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

int main() {
  std::vector<char> message(1 << 20);
  int ends[2];
  if (pipe(ends) != 0) return 3;
  std::puts("the parent waits for the end of the child");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == -1) return 3;
  if (child == 0) {
    close(ends[0]);  // or the write would wait for ever if somebody killed the parent
    _exit(write(ends[1], message.data(), message.size()) == -1 ? 1 : 0);
  }
  close(ends[1]);              // or the last read would wait for ever
  waitpid(child, nullptr, 0);  // wrong: the read must come first
  ssize_t received = 0;
  for (ssize_t count; (count = read(ends[0], message.data(), message.size())) > 0;) received += count;
  std::printf("the parent has received %zd bytes\n", received);
}

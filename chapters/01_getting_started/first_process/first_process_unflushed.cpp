// Pitfall: the output is not flushed before execvp
//
// The program prints a line and replaces itself by echo, which prints another one. On a terminal both come. Into a pipe
// or a file only the second one comes: the first was still in a buffer in the program's memory, and execvp replaces
// this memory.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/first_process/first_process_unflushed.cpp -o first_process_unflushed
// Run:     first_process_unflushed | cat
// Symptom: exit 0, prints "callee: hello"

#include <unistd.h>

#include <cstdio>

int main() {
  std::printf("caller: calling\n");
  // missing: std::fflush(stdout);
  execlp("echo", "echo", "callee: hello", nullptr);  // execvp with the arguments one by one
  std::perror("execlp");
  return 3;
}

// The caller of first_process
//
// A program that replaces itself by another program, the one that its arguments name. If that works, the last lines of
// main never run: the process goes on as the other program.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/first_process/first_process_caller.cpp -o first_process_caller
// Run:     first_process_caller PROGRAM [ARGUMENT...]

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: first_process_caller PROGRAM [ARGUMENT...]\n", stderr);
    return 2;
  }
  std::printf("caller %d: calling\n", getpid());
  std::fflush(stdout);  // what is still in printf's buffer would be lost together with the caller's memory
  setenv("GREETING", "from the caller", 1);  // an environment variable: the callee has it, too
  execvp(argv[1], argv + 1);

  // Only a failed execvp returns.
  std::printf("caller %d: cannot run %s: %s\n", getpid(), argv[1], std::strerror(errno));
  std::printf("caller %d: goes on\n", getpid());
  return 3;
}

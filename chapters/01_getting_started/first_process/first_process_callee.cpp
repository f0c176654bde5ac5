// The callee of first_process
//
// The program that the caller replaces itself by. It says which process it is and what it was given, and ends with the
// exit code that it was given.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/first_process/first_process_callee.cpp -o first_process_callee
// Run:     first_process_callee [EXIT_CODE]

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const char* const greeting = std::getenv("GREETING");
  std::printf("callee %d: hello\n", getpid());
  std::printf("callee %d: argument: %s\n", getpid(), argc > 1 ? argv[1] : "none");
  std::printf("callee %d: GREETING: %s\n", getpid(), greeting != nullptr ? greeting : "not set");
  std::fflush(stdout);
  usleep(100'000);  // so that the parent is seen to go on meanwhile
  std::printf("callee %d: ends after 0.1 s\n", getpid());
  return argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 0;
}

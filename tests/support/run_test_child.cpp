// A program of many habits, each chosen by its first argument, for the tests of support/run.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int, char** argv) {
  const std::string habit = argv[1];
  if (habit == "echo") {
    std::printf("out %s\n", argv[2]);
    std::fprintf(stderr, "err %s\n", std::getenv("ODD_VARIABLE"));
    return 5;
  }
  if (habit == "abort") std::abort();
  if (habit == "both_outputs") {
    std::puts("before");
    std::fflush(stdout);
    std::fputs("message\n", stderr);
    std::puts("after");
    return 0;
  }
  if (habit == "orphan" && fork() != 0) {
    std::puts("the parent has gone");
    return 0;
  }
  if (habit == "family" && fork() == 0) setpgid(0, 0);  // a child in a group of its own outlives a kill of ours
  if (habit == "much") {
    for (int i = 0; i < 100'000; ++i) std::printf("line %d\n", i);
    return 0;
  }
  std::puts("waiting");
  std::fflush(stdout);
  for (;;) pause();
}

/// Two ways to start a child process that calls one function.
#pragma once

#include <spawn.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <string>
#include <thread>

#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"

inline int calls = 0;           // each process has a variable of its own
inline bool computing = false;  // whether the work needs a core; a child that is made by fork has a copy

/// How long a child works, in ms.
inline int work_of(int number) { return 30 - 3 * number; }

/// What each child runs. The sleep stands for work that needs no core. Returns what the variable of this process has
/// counted.
inline int called_function(int number) {
  if (computing) {
    const std::clock_t end = std::clock() + work_of(number) * (CLOCKS_PER_SEC / 1000);  // counts time on a core
    while (std::clock() < end) continue;
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(work_of(number)));
  }
  return ++calls;
}

/// Starts a child that is a copy of this process. Returns the child's process id.
inline pid_t start_by_fork(int number) {
  const pid_t child = check(fork(), "fork");  // from here on two processes run this code; fork returns 0 in the child
  if (child != 0) return child;
  const int counted = called_function(number);
  _exit(counted == 1 ? 0 : 1);  // the child ends here; without this line it would go on as its parent does
}

/// Starts another program as a child, with the number as its argument. Returns the child's process id.
inline pid_t start_by_spawn(std::string program, int number) {
  std::string argument = fmt::format("--number={}", number);
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;  // below: no changes to the open files, no attributes, and the environment of this process
  check_error(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), "posix_spawn");
  return child;
}

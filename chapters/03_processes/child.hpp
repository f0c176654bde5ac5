/// Starting a child process that runs a function, and waiting for its end.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <type_traits>

#include "cookbook/posix.hpp"

/// Starts a child process by fork. The child calls `work` and ends with the exit code that `work` returns, or with 0 if
/// it returns nothing; an exception ends it with exit code 3 and one line. Returns the child's process id.
///
/// The kernel kills the child if the thread that called this function ends first. So the child does not outlive this
/// program, in whatever way the program ends.
template <typename Work>
pid_t start_child(Work&& work) {
  const pid_t parent = getpid();
  const pid_t child = check(fork(), "fork");
  if (child != 0) return child;

  const auto live = [&]() noexcept -> int {  // an exception must not reach the parent's code, which was copied as well
    check(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
    if (getppid() != parent) return 1;  // the parent had ended before the line above
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      work();
      return 0;
    } else {
      return work();
    }
  };
  _exit(live());  // not exit(), which would do the parent's clean-up a second time
}

/// Waits until a child has ended. Returns its exit code, or -N if signal N ended it.
inline int exit_code_of(pid_t child) {
  int status = 0;
  check(waitpid(child, &status, 0), "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Child processes: started with work to do, ended with their parent, waited for.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <type_traits>

#include "cookbook/system_check.hpp"

/// Starts a child process by fork. It does `work` and ends with the exit code that `work` returns, or with 0 if that
/// returns nothing; an exception ends it with exit code 3 and one line. Returns its id.
///
/// The kernel kills it if the thread that called this ends first, so it never outlives this program, however that ends.
template <typename Work>
pid_t start_child(Work&& work) {
  const pid_t parent = getpid();
  const pid_t child = check(fork(), "fork");
  if (child != 0) return child;

  const auto live = [&]() noexcept -> int {  // an exception must not reach the code of the parent, which is here too
    check(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
    if (getppid() != parent) return 1;  // it ended before the line above
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      work();
      return 0;
    } else {
      return work();
    }
  };
  _exit(live());  // not exit: the clean-up that exit does is the parent's
}

/// Waits for the end of a child; its exit code, or -N if signal N ended it.
inline int exit_code_of(pid_t child) {
  int status = 0;
  check(waitpid(child, &status, 0), "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

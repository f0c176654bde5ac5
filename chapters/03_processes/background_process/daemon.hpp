/// A child process that ends when its parent ends.
#pragma once

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "cookbook/posix.hpp"

inline sigset_t only_sigterm() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  return set;
}

/// For a child, whose parent has the id `parent`: asks the kernel to send this process SIGTERM when the thread of
/// `parent` that has started it ends. The signal ends this process, also if the parent handles, ignores or blocks it:
/// fork has copied all of that.
inline void end_with_parent(pid_t parent) {
  const sigset_t sigterm = only_sigterm();
  std::signal(SIGTERM, SIG_DFL);
  check_error(pthread_sigmask(SIG_UNBLOCK, &sigterm, nullptr), "pthread_sigmask");
  check(prctl(PR_SET_PDEATHSIG, SIGTERM), "prctl");
  if (getppid() != parent) raise(SIGTERM);  // the parent had ended before the request, which came too late
}

/// Starts a child that calls `work`, and gets SIGTERM when the thread that has called this ends. Returns its id.
template <typename Work>
pid_t start_daemon(Work work) {
  const pid_t parent = getpid();
  // A SIGTERM that comes to the child at once waits for end_with_parent(), or a copy of this process's handler would
  // catch it.
  sigset_t before;
  const sigset_t sigterm = only_sigterm();
  check_error(pthread_sigmask(SIG_BLOCK, &sigterm, &before), "pthread_sigmask");
  const pid_t child = check(fork(), "fork");
  if (child != 0) {
    check_error(pthread_sigmask(SIG_SETMASK, &before, nullptr), "pthread_sigmask");
    return child;
  }

  end_with_parent(parent);
  [&]() noexcept { work(); }();  // an exception must not reach the parent's code, which was copied as well
  _exit(0);
}

/// A child process that ends when its parent ends.
#pragma once

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "cookbook/posix.hpp"

inline bool is_daemon = false;  // each process has a variable of its own

/// For a child, whose parent has the id `parent`: asks the kernel to send this process SIGTERM when its parent ends.
inline void end_with_parent(pid_t parent) {
  check(prctl(PR_SET_PDEATHSIG, SIGTERM), "prctl");
  if (getppid() != parent) raise(SIGTERM);  // the parent had ended before the request, so no signal will come
}

/// Starts a child that calls `work`, and that ends with this process at the latest. Returns its process id. Throws
/// std::logic_error in a daemon, as Python does: a daemon must not have daemons of its own.
template <typename Work>
pid_t start_daemon(Work work) {
  if (is_daemon) throw std::logic_error("a daemon must not have daemons");
  const pid_t parent = getpid();
  const pid_t child = check(fork(), "fork");
  if (child != 0) return child;

  end_with_parent(parent);
  is_daemon = true;
  [&]() noexcept { work(); }();  // an exception must not reach the parent's code, which was copied as well
  _exit(0);
}

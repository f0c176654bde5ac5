/// Child processes that do not outlive this program, however it ends.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>

#include "cookbook/print.hpp"

inline constinit std::array<std::atomic<pid_t>, 8> children = {};

/// Ctrl-C reaches the children too, but they may be stopped, or end later than this program: so it ends them and waits.
inline void end_with_children(int signal_number) {
  for (const auto& child : children) {
    if (child > 0) kill(child, SIGKILL);
    if (child > 0) waitpid(child, nullptr, 0);
  }
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

/// As fork(). The child is ended by the kernel if this program is killed.
inline pid_t fork_child() {
  sigset_t ends, before;
  sigemptyset(&ends);
  for (const int end : {SIGINT, SIGTERM}) {
    sigaddset(&ends, end);
    signal(end, end_with_children);
  }
  sigprocmask(SIG_BLOCK, &ends, &before);  // until it is written down whose child this is
  const pid_t child = fork();
  if (child < 0) cookbook::system_refused("fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int end : {SIGINT, SIGTERM}) signal(end, SIG_DFL);
  } else {
    pid_t free_place = 0;
    for (auto& place : children) {
      if (place.compare_exchange_strong(free_place, child)) break;
      free_place = 0;
    }
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return child;
}

/// Waits until the child has ended. Returns its exit code, or -N if signal N ended it.
inline int exit_code_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) cookbook::system_refused("waitpid");
  for (auto& place : children) {
    if (place == child) place = 0;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

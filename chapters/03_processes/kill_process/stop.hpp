/// Ending a child process: asking it first, and killing it after a time limit.
#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

extern "C" {  // glibc 2.36 leaves this to those who include the file
#include <sys/pidfd.h>
}

#include "cookbook/posix.hpp"
#include "cookbook/process.hpp"

/// Waits until a process has ended, at most `limit`. Returns whether it has. `process_fd` is its pidfd, a file
/// descriptor that stands for the process.
inline bool ends_within(int process_fd, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    // Rounded up, since poll would return before the deadline otherwise.
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ms_left = static_cast<int>(std::max<long>(left.count(), 0));
    pollfd ended = {process_fd, POLLIN, 0};  // becomes readable when the process ends
    const int ready = poll(&ended, 1, ms_left);
    if (ready == -1 && errno == EINTR) continue;  // this process has handled a signal; wait for the rest of the time
    return check(ready, "poll") > 0;
  }
}

/// Asks a child to end, by SIGTERM, and kills it if it has not ended within `grace`. Returns its exit code.
inline int stop(pid_t child, std::chrono::milliseconds grace) {
  const int child_fd = check(pidfd_open(child, 0), "pidfd_open");
  check(pidfd_send_signal(child_fd, SIGTERM, nullptr, 0), "pidfd_send_signal");
  if (!ends_within(child_fd, grace)) check(pidfd_send_signal(child_fd, SIGKILL, nullptr, 0), "pidfd_send_signal");
  close(child_fd);
  return cookbook::exit_code_of(child);
}

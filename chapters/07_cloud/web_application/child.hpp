/// For the visitor: the web application, and what it is compared with, as child processes on a processor of their own.
#pragma once

#include <sched.h>

#include <cerrno>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "../../05_distributed/child_program.hpp"
#include "cookbook/pin.hpp"
#include "cookbook/system_check.hpp"

/// A child program. If `processor` is not -1, it stays on that one of the processors that are allowed, and does not
/// interrupt others there when it is woken (04_async/echo_server says why).
class Child : public ChildProgram {
 public:
  explicit Child(std::vector<std::string> words, int processor = -1)
      : ChildProgram(std::move(words), false, [&] {
          if (processor < 0) return;
          cookbook::pin(processor);
          const sched_param none = {};
          check(sched_setscheduler(0, SCHED_BATCH, &none), "sched_setscheduler");
        }) {}

  /// Seconds that it has been on a processor.
  double processor_seconds() const {
    clockid_t clock = {};
    timespec time = {};
    errno = clock_getcpuclockid(pid(), &clock);
    if (errno != 0) cookbook::system_refused("clock_getcpuclockid");
    check(clock_gettime(clock, &time), "clock_gettime");
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
};

/// The web application in a process of its own.
class WebServer : public Child {
 public:
  explicit WebServer(std::vector<std::string> words, int processor = -1) : Child(std::move(words), processor) {
    const std::string first = line();
    port = static_cast<unsigned short>(std::stoi(first.substr(first.rfind(':') + 1)));
  }

  unsigned short port = 0;
};

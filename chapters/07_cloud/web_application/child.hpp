/// For the visitor: the web application, and what it is compared with, as child processes on a processor of their own.
#pragma once

#include <sched.h>

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "../../05_distributed/child_program.hpp"

/// A child program that stays on one processor, and does not interrupt others there when it is woken: see keep_on() in
/// 04_async/echo_server. If `processor` is -1 it is a child program like any other.
class Child : public ChildProgram {
 public:
  explicit Child(std::vector<std::string> words, int processor = -1)
      : ChildProgram(std::move(words), false, [&] {
          if (processor >= 0) stay_on(processor);
        }) {}

  /// Seconds that it has been on a processor.
  double processor_seconds() const {
    clockid_t clock = {};
    timespec time = {};
    clock_getcpuclockid(pid(), &clock);
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

 private:
  static void stay_on(int processor) {
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    CPU_SET(processor, &chosen);
    sched_setaffinity(0, sizeof chosen, &chosen);
    const sched_param none = {};
    sched_setscheduler(0, SCHED_BATCH, &none);
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

/// A message without content from one process to another: something has happened.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "cookbook/posix.hpp"

/// One process gives the sign, and another one waits for it. It is made before the fork, so that both have it. Inside
/// is a pipe: the waiting process reads one byte or, if all processes that could have given the sign have ended,
/// end-of-file.
class OneShotEvent {
 public:
  OneShotEvent() { check(pipe2(ends_, O_CLOEXEC), "pipe2"); }
  ~OneShotEvent() {
    close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
  }
  OneShotEvent(const OneShotEvent&) = delete;
  OneShotEvent& operator=(const OneShotEvent&) = delete;

  void give() const { check(write(ends_[1], "", 1), "write"); }

  /// Whether the sign has come; false if it will not come any more.
  bool wait() {
    if (ends_[1] >= 0) close(ends_[1]);  // or this process itself would keep the pipe from its end-of-file
    ends_[1] = -1;
    char byte = 0;
    return check(read(ends_[0], &byte, 1), "read") == 1;
  }

 private:
  int ends_[2];
};

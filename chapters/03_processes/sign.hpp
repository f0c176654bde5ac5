/// One process tells another that something has happened.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "cookbook/system_check.hpp"

/// A sign that one process gives and another waits for. Made before the fork, it is in both. It is a pipe: the one who
/// waits sees either a byte or, if all who could have given it have ended, the end of the pipe.
class Sign {
 public:
  Sign() { check(pipe2(ends_, O_CLOEXEC), "pipe2"); }
  ~Sign() {
    close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
  }
  Sign(const Sign&) = delete;
  Sign& operator=(const Sign&) = delete;

  void give() const { check(write(ends_[1], "", 1), "write"); }

  /// Whether the sign has come; false if it will not come any more.
  bool wait() {
    close(ends_[1]);  // as long as this process could give it, the pipe would have no end
    ends_[1] = -1;
    char byte = 0;
    return check(read(ends_[0], &byte, 1), "read") == 1;
  }

 private:
  int ends_[2];
};

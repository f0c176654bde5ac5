/// Whole numbers through a pipe: what the recipe and its pitfall share.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"

struct Pipe {
  int reading;
  int writing;
};

/// A new pipe. Its ends are closed in programs that this process or its children start by exec.
inline Pipe make_pipe() {
  int ends[2];
  check(pipe2(ends, O_CLOEXEC), "pipe2");
  return {ends[0], ends[1]};
}

/// Writes one number. Up to PIPE_BUF (4096) bytes go in whole or not at all, so eight bytes need no loop.
inline void write_number(int writing, long number) { check(write(writing, &number, sizeof number), "write"); }

/// Reads the next number; false at end-of-file. Ends the program with exit code 3 if the writer died within a number.
inline bool read_number(int reading, long& number) {
  const ssize_t count = check(read(reading, &number, sizeof number), "read");
  if (count != 0 && count != sizeof number) {
    cookbook::complain("read: the pipe ended within a number");
    std::_Exit(3);
  }
  return count != 0;
}

/// Two child processes, joined by pipes: one sends numbers, the other one squares them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>

#include "cookbook/process.hpp"

/// The two ends of a pipe, as file descriptors.
struct Pipe {
  int reading, writing;
};

inline Pipe make_pipe() {
  int ends[2];
  check(pipe2(ends, O_CLOEXEC), "pipe2");  // O_CLOEXEC: closed in programs that are started by exec
  return {ends[0], ends[1]};
}

inline void write_number(const Pipe& pipe, long number) {
  check(write(pipe.writing, &number, sizeof number), "write");  // as a whole: 8 bytes are fewer than PIPE_BUF
}

/// Reads the next number; false at end-of-file. Throws std::runtime_error if `read` gives only a part of a number. All
/// writers here write whole numbers, so that is an error; in general one reads on until all bytes have come.
inline bool read_number(const Pipe& pipe, long& number) {
  const auto count = check(read(pipe.reading, &number, sizeof number), "read");
  if (count != 0 && count != sizeof number) throw std::runtime_error("only a part of a number came through the pipe");
  return count != 0;
}

/// Two children at work, and the pipe from which the squares can be read.
struct Squares {
  pid_t sender, squarer;
  Pipe results;
};

/// Starts a child that sends the numbers from 0 to `items` - 1, and one that squares them. The parent closes all ends
/// that it does not use; if `keep_a_writing_end`, it forgets one of them.
inline Squares start_squares(long items, bool keep_a_writing_end = false) {
  const Pipe numbers = make_pipe();
  const pid_t sender = cookbook::start_child([&] {
    close(numbers.reading);
    for (long number = 0; number < items; ++number) write_number(numbers, number);
  });  // the child ends here, and so its writing end is closed

  const Pipe results = make_pipe();  // made after the sender, which has no copy of it
  const pid_t squarer = cookbook::start_child([&] {
    close(numbers.writing);
    close(results.reading);
    long number = 0;
    while (read_number(numbers, number)) write_number(results, number * number);
  });

  close(results.writing);  // or this process would never see end-of-file
  close(numbers.reading);  // or the sender would get no SIGPIPE if the squarer died
  if (!keep_a_writing_end) {
    close(numbers.writing);  // or the squarer would never see end-of-file
  }
  return {sender, squarer, results};
}

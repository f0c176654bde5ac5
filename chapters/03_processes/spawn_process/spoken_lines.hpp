/// Hearing what child processes say: standard output is a pipe while they run.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"

/// The lines that `work` and all processes that it starts write to standard output, printed in their order when all of
/// them have ended. They must fit into the pipe: nobody reads while they come.
template <typename Work>
std::vector<std::string> spoken_lines(Work work) {
  int ends[2];
  check(pipe2(ends, O_CLOEXEC), "pipe2");
  const int kept = check(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), "fcntl");
  check(dup2(ends[1], STDOUT_FILENO), "dup2");  // children inherit this copy, also over exec
  close(ends[1]);
  work();
  check(dup2(kept, STDOUT_FILENO), "dup2");  // closes this process's last writing end
  close(kept);

  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = check(read(ends[0], buffer, sizeof buffer), "read")) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);

  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::ranges::for_each(lines, cookbook::print_line);
  return lines;
}

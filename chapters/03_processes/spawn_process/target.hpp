/// What every child runs: the function, apart from the programs that start it.
#pragma once

#include <unistd.h>

#include <string>

#include "cookbook/system_check.hpp"

/// Says its number in one line. One write, and no buffer: a forked child would get a copy of what waits in the buffer.
inline void called_function(int id) {
  const std::string line = fmt::format("called function in process: {}\n", id);
  check(write(STDOUT_FILENO, line.data(), line.size()), "write");
}

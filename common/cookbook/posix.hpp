/// Checking the calls of the system's C interface.
#pragma once

#include <cerrno>
#include <source_location>

#include "cookbook/print.hpp"

/// Returns `result`, what the system call `call` gave; -1 means that the system refused. Then the program ends with
/// exit code 3 and one line on standard error that names the call, the error (errno) and the line.
template <typename Result>
Result check(Result result, const char* call, std::source_location where = std::source_location::current()) {
  if (result == Result(-1)) cookbook::exit_with_errno(fmt::format("{} in line {}", call, where.line()));
  return result;
}

/// The same for a call that returns the error number, 0 if there is none, and does not set errno: those of pthread and
/// of posix_spawn.
inline void check_error(int error, const char* call, std::source_location where = std::source_location::current()) {
  if (error == 0) return;
  errno = error;
  cookbook::exit_with_errno(fmt::format("{} in line {}", call, where.line()));
}

/// Starting a program under another name than that of its file.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "child.hpp"
#include "cookbook/system_check.hpp"
#include "names.hpp"

/// Starts a program under a name: the first of its arguments is whatever its parent puts there. Its short name, its
/// command line, and its first argument as it sees that itself.
inline std::vector<std::string> names_of_program_called(std::string program, std::string name) {
  int input[2], output[2];
  check(pipe2(input, O_CLOEXEC), "pipe2");
  check(pipe2(output, O_CLOEXEC), "pipe2");
  posix_spawn_file_actions_t actions;
  check_error(posix_spawn_file_actions_init(&actions), "posix_spawn_file_actions_init");
  check_error(posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO), "posix_spawn_file_actions_adddup2");
  check_error(posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO), "posix_spawn_file_actions_adddup2");
  char* const arguments[] = {name.data(), nullptr};
  pid_t child = 0;
  check_error(posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ),
              ("posix_spawn of " + program).c_str());
  posix_spawn_file_actions_destroy(&actions);
  close(input[0]);
  close(output[1]);

  // Here the program has been loaded, but the system may not have put down its names yet. What it says comes later.
  char said[100] = "";
  check(read(output[0], said, sizeof said - 1), "read");
  std::vector<std::string> names = {text_in_proc(child, "comm"), text_in_proc(child, "cmdline"), said};
  close(input[1]);  // the end of its standard input, and so of the program
  close(output[0]);
  exit_code_of(child);
  return names;
}

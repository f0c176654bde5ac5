/// Playing the user of a console program: a child process runs a function whose console is a pair of pipes.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cookbook/system_check.hpp"

/// What a child said, and how it ended.
struct Conversation {
  pid_t child = 0;
  std::vector<std::string> lines;  ///< from the child, and from what it started
  int closed_before_enter = 0;     ///< lines "Closing" that came before ENTER was pressed
  int exit_code = -1;

  /// How many lines have `text` in them.
  long count(std::string_view text) const {
    return std::count_if(lines.begin(), lines.end(),
                         [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }

  /// What stands behind `text` in the first line that has it.
  std::string after(std::string_view text) const {
    for (const std::string& line : lines) {
      if (const auto found = line.find(text); found != std::string::npos) return line.substr(found + text.size());
    }
    return "";
  }

  /// The process id that stands behind `name` in the lines.
  pid_t id_of(std::string_view name) const { return std::atoi(after(std::string(name) + ' ').c_str()); }
};

/// Waits for the end of a child; its exit code, or -N if signal N ended it.
inline int exit_code_of(pid_t child) {
  int status = 0;
  check(waitpid(child, &status, 0), "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Runs `role` in a child process and reads what comes. When each of `awaited` has been said, it presses
/// ENTER, once; never if there is none. What `role` returns is the exit code of the child, if it returns.
template <typename Role>
Conversation talk_to(Role role, std::vector<std::string> awaited) {
  int keyboard[2], screen[2];  // reading end, writing end; both are closed in a program that replaces the child
  check(pipe2(keyboard, O_CLOEXEC), "pipe2");
  check(pipe2(screen, O_CLOEXEC), "pipe2");
  Conversation heard;
  heard.child = check(fork(), "fork");
  if (heard.child == 0) {
    check(dup2(keyboard[0], STDIN_FILENO), "dup2");  // the copies are not marked, so they stay open
    check(dup2(screen[1], STDOUT_FILENO), "dup2");
    close(keyboard[1]);
    const int exit_code = role();
    std::fflush(stdout);
    _exit(exit_code);
  }
  close(keyboard[0]);
  close(screen[1]);

  FILE* const from_screen = fdopen(screen[0], "r");
  if (from_screen == nullptr) cookbook::system_refused("fdopen");
  for (char text[1000]; std::fgets(text, sizeof text, from_screen) != nullptr;) {
    std::string line = text;
    while (!line.empty() && line.back() == '\n') line.pop_back();
    heard.lines.push_back(line);
    const auto said = [&](const std::string& part) { return line.find(part) != std::string::npos; };
    if (std::erase_if(awaited, said) != 0 && awaited.empty()) {
      heard.closed_before_enter = static_cast<int>(heard.count("Closing"));
      check(write(keyboard[1], "\n", 1), "write");
    }
  }
  std::fclose(from_screen);
  close(keyboard[1]);
  heard.exit_code = exit_code_of(heard.child);
  return heard;
}

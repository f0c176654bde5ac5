/// Finding out what is installed, without needing it: libraries are loaded by name, programs asked for their version.
#pragma once

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "cookbook/system_check.hpp"

/// What `look` returns, found out in a child process; "failed" if that does not end well within 10 seconds. A library
/// that is loaded starts threads and takes memory, and a driver may hang or crash: none of that reaches this program.
template <typename Look>
std::string in_a_child(Look look) {
  int ends[2];
  check(pipe(ends), "pipe");
  const pid_t child = check(fork(), "fork");
  if (child == 0) {
    alarm(10);
    const std::string found = look();
    _exit(write(ends[1], found.data(), found.size()) == static_cast<ssize_t>(found.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string found;
  char buffer[4096];
  for (ssize_t count = 0; (count = check(read(ends[0], buffer, sizeof buffer), "read")) > 0;) {
    found.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  int status = 0;
  check(waitpid(child, &status, 0), "waitpid");
  return status == 0 ? found : "failed";
}

/// A shared library, loaded when the program runs.
class Library {
 public:
  explicit Library(const char* name) : handle_(dlopen(name, RTLD_NOW)) {}

  explicit operator bool() const { return handle_ != nullptr; }

  /// Calls the function `name` of the library, of type Result(Arguments...). The caller has to know that it is one.
  template <typename Result, typename... Arguments>
  Result call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<Result (*)(Arguments...)>(dlsym(handle_, name));
    return function ? function(arguments...) : Result();
  }

 private:
  void* handle_;  // never closed: the child that loads it ends
};

/// `found`, or if that is empty, `otherwise`.
inline std::string or_else(const std::string& found, std::string_view otherwise) {
  return found.empty() ? std::string(otherwise) : found;
}

/// The first line that a shell command prints; empty if it prints none.
inline std::string first_line_of(const std::string& command) {
  std::string line;
  if (FILE* output = popen(("{ " + command + "; } 2>/dev/null").c_str(), "r")) {
    for (int next = 0; (next = fgetc(output)) != EOF && next != '\n';) line += static_cast<char>(next);
    pclose(output);
  }
  return line;
}

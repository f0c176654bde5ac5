/// Child processes with names: for the program itself, and for ps, top and pgrep.
#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "cookbook/posix.hpp"
#include "cookbook/process.hpp"

inline std::string own_name = "MainProcess";  // each process has a variable of its own
inline int processes_started = 0;             // by start_named, in this process

/// The command line of this process: the strings of argv, which stand one after another in the memory of the process.
/// ps reads them there, so a process that writes to them changes what ps shows.
class CommandLine {
 public:
  CommandLine(int argc, char** argv) : begin_(argv[0]) {
    // Adds up the strings of argv for as long as each begins where the one before ends.
    for (int i = 0; i < argc && argv[i] == begin_ + size_; ++i) size_ += std::strlen(argv[i]) + 1;
  }

  /// Replaces the command line by `text`, cut off if there is too little room.
  void set(const std::string& text) const {
    if (size_ == 0) return;  // a program may be started without any argument, not even its name
    std::memset(begin_, 0, size_);
    std::memcpy(begin_, text.data(), std::min(text.size(), size_ - 1));
  }

 private:
  char* begin_;
  std::size_t size_ = 0;
};

struct NamedProcess {
  pid_t id;
  std::string name;
};

/// Starts a child that takes a name and then calls `work`. If `name` is empty, the Nth child of this process is
/// Process-N.
template <typename Work>
NamedProcess start_named(const CommandLine& command_line, std::string name, Work work) {
  ++processes_started;
  if (name.empty()) name = fmt::format("Process-{}", processes_started);
  const pid_t child = cookbook::start_child([&] {
    own_name = name;                                   // for this program
    check(prctl(PR_SET_NAME, name.c_str()), "prctl");  // for ps, top, pgrep: 15 bytes are kept
    command_line.set(name);                            // for ps -f, pgrep -f
    processes_started = 0;                             // a child counts its own children
    work();
  });
  return {child, name};
}

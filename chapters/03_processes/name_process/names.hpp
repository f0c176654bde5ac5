/// The two names that the system keeps of a process, for ps, top, pgrep and debuggers: the short one, and the command
/// line. A process sets its own; everyone may read both in /proc.
#pragma once

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "cookbook/system_check.hpp"

/// Sets the short name of this process: 15 characters. The system cuts off what is beyond, without a word.
inline void set_short_name(const std::string& name) { check(prctl(PR_SET_NAME, name.c_str()), "prctl"); }

inline std::string short_name() {
  char name[16];  // with the zero at the end
  check(prctl(PR_GET_NAME, name), "prctl");
  return name;
}

/// The command line of this process: the strings of argv, one behind the other, in this process's own memory. The
/// system reads them there whenever somebody asks; so who writes there gives the process a new command line.
class CommandLine {
 public:
  CommandLine(int argc, char** argv) : begin_(argv[0]), room_(0) {
    for (int i = 0; i < argc && argv[i] == begin_ + room_; ++i) room_ += std::strlen(argv[i]) + 1;
  }

  /// Writes as much of `text` as there is room for.
  void set(const std::string& text) const {
    std::memset(begin_, 0, room_);
    std::memcpy(begin_, text.data(), std::min(text.size(), characters()));
  }

  std::size_t characters() const { return room_ - 1; }  ///< that fit

 private:
  char* begin_;
  std::size_t room_;
};

/// The first text in a file of /proc: "comm" has the short name of a process, "cmdline" the command line, a zero behind
/// each word.
inline std::string text_in_proc(pid_t process, const char* file) {
  std::ifstream stream(fmt::format("/proc/{}/{}", process, file));
  std::string text;
  std::getline(stream, text, '\0');
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

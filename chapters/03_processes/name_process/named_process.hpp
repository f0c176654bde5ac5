/// A process takes a name, which ps, top and pgrep show.
#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "cookbook/posix.hpp"

/// The command line of this process: the strings of argv, which stand one after another in the memory of the process.
/// ps reads them there, so a process that writes to them changes what ps shows.
class CommandLine {
 public:
  CommandLine(int argc, char** argv) : begin_(argv[0]) {
    // Adds up the strings of argv for as long as each begins where the one before ends.
    for (int i = 0; i < argc && argv[i] == begin_ + size_; ++i) size_ += std::strlen(argv[i]) + 1;
  }

  /// Replaces the command line by `text`, cut off if it is longer than room().
  void set(const std::string& text) const {
    if (size_ == 0) return;  // a program may be started without any argument, not even its name
    std::memset(begin_, 0, size_);
    std::memcpy(begin_, text.data(), std::min(text.size(), room()));
  }

  /// So many bytes of a text are kept: all but the last one, which stays zero.
  std::size_t room() const { return size_ > 0 ? size_ - 1 : 0; }

 private:
  char* begin_;
  std::size_t size_ = 0;
};

/// Gives this process a name.
inline void take_name(const CommandLine& command_line, const std::string& name) {
  check(prctl(PR_SET_NAME, name.c_str()), "prctl");  // for top, pgrep, ps -o comm: 15 bytes are kept
  command_line.set(name);                            // for ps -f, ps -o args, pgrep -f
}

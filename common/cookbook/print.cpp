#include "cookbook/print.hpp"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

namespace cookbook {
namespace {

bool json = false;

/// False, with errno set, if the system refuses. A short write goes on where it stopped.
bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void write_line(std::string_view line) {
  if (!write_whole(STDOUT_FILENO, std::string(line) + '\n')) exit_with_errno("write to standard output");
}

}  // namespace

void print_line(std::string_view line) {
  if (!json) write_line(line);
}

void print_record(std::string_view record) {
  if (json) write_line(record);
}

bool json_wanted() { return json; }

void want_json(bool wanted) { json = wanted; }

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", c);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string json_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

std::string_view program_name() { return program_invocation_short_name; }

void print_error(std::string_view message) {
  // Nobody is left to hear of it if standard error fails too.
  (void)write_whole(STDERR_FILENO, fmt::format("{}: {}\n", program_name(), message));
}

void exit_with_errno(std::string_view what) {
  print_error(fmt::format("{}: {}", what, std::strerror(errno)));
  std::_Exit(3);
}

}  // namespace cookbook

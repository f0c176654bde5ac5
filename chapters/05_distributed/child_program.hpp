/// Other programs as child processes, whose lines can be waited for.
#pragma once

#include <fcntl.h>
#include <poll.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "../03_processes/child.hpp"
#include "cookbook/print.hpp"

/// The path of the program `name` in the folder of this one.
inline std::string beside_this_program(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
}

/// A program that runs as a child of this one. It does not outlive this one, however that ends.
class ChildProgram {
 public:
  /// Starts words[0], found as a shell finds it, with the other words as arguments. Its standard output is read here;
  /// with `errors_too` its standard error as well. `in_child` is called in the child before it becomes that program.
  explicit ChildProgram(
      std::vector<std::string> words, bool errors_too = false, const std::function<void()>& in_child = [] {}) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    int ends[2];
    check(pipe2(ends, O_CLOEXEC), "pipe2");
    pid_ = start_child([&] {
      check(dup2(ends[1], STDOUT_FILENO), "dup2");
      if (errors_too) check(dup2(ends[1], STDERR_FILENO), "dup2");
      in_child();
      execvp(argv[0], argv.data());
      cookbook::complain("cannot start " + words[0]);
      return 127;
    });
    close(ends[1]);
    output_ = ends[0];
  }

  ~ChildProgram() {
    if (pid_ > 0) stop(SIGKILL);
    close(output_);
  }

  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  pid_t pid() const { return pid_; }  ///< -1 when its end has been waited for

  /// The next line that it prints; ends this program if none comes within 30 s.
  std::string line() {
    if (std::string text; next_line(text)) return text;
    give_up("another line");
  }

  /// Reads on up to a line with `text`, and returns that one; ends this program if there is a silence of 30 s before.
  std::string wait_for(const std::string& text) {
    for (std::string line; next_line(line);) {
      if (line.find(text) != std::string::npos) return line;
    }
    give_up("'" + text + "'");
  }

  /// All that it prints from now to its end.
  std::string read_all() {
    std::string text;
    for (std::string line; next_line(line);) text += line + '\n';
    return text;
  }

  /// All lines that were read so far.
  const std::vector<std::string>& lines() const { return lines_; }

  void send(int signal_number) const { check(kill(pid_, signal_number), "kill"); }

  /// Waits for its end. Returns the exit code, or -N if signal N ended it.
  int wait() {
    const int code = exit_code_of(pid_);
    pid_ = -1;
    return code;
  }

  /// Sends a signal, which must end it, reads what it still has to say, and waits for its end; see wait().
  int stop(int signal_number) {
    send(signal_number);
    for (std::string line; next_line(line);) continue;
    send(SIGKILL);  // of no effect, unless it has been silent for 30 s and still is there
    return wait();
  }

 private:
  /// False at the end of its output, or if nothing comes for 30 s.
  bool next_line(std::string& line) {
    for (;;) {
      if (const auto end = unread_.find('\n'); end != std::string::npos) {
        line = unread_.substr(0, end);
        unread_.erase(0, end + 1);
        lines_.push_back(line);
        return true;
      }
      pollfd ready = {output_, POLLIN, 0};
      char buffer[4096];
      if (poll(&ready, 1, 30'000) <= 0) return false;
      const ssize_t count = read(output_, buffer, sizeof buffer);
      if (count <= 0) return false;
      unread_.append(buffer, static_cast<std::size_t>(count));
    }
  }

  [[noreturn]] static void give_up(const std::string& awaited) {
    cookbook::complain("a child ended, or was silent for 30 s, before it said " + awaited);
    std::_Exit(3);
  }

  pid_t pid_ = -1;
  int output_ = -1;
  std::string unread_;
  std::vector<std::string> lines_;
};

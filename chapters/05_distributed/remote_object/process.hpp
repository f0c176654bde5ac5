/// Another program of this folder as a child process, whose lines can be waited for.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "child.hpp"
#include "cookbook/print.hpp"

class Process {
 public:
  Process(const std::string& program, std::vector<std::string> arguments) {
    const std::string path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / program;
    arguments.insert(arguments.begin(), path);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);

    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) cookbook::system_refused("pipe2");
    pid_ = fork_child();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execv(path.c_str(), argv.data());
      cookbook::complain("cannot start " + path);
      _exit(127);
    }
    close(ends[1]);
    output_ = ends[0];
  }

  ~Process() {
    if (pid_ > 0) stop(SIGKILL);
    close(output_);
  }

  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The next line that it prints; ends this program if none comes.
  std::string line() {
    std::string text;
    for (char next = 0;; text += next) {
      pollfd ready = {output_, POLLIN, 0};
      if (poll(&ready, 1, 30'000) <= 0 || read(output_, &next, 1) != 1) {
        cookbook::complain("a child ended or was silent for 30 s, having printed '" + text + "'");
        std::exit(3);
      }
      if (next == '\n') return text;
    }
  }

  pid_t pid() const { return pid_; }

  void send(int signal_number) {
    if (kill(pid_, signal_number) != 0) cookbook::system_refused("kill");
  }

  /// Sends a signal and waits for the end. Returns the exit code, or -N if signal N ended it.
  int stop(int signal_number) {
    send(signal_number);
    const int code = exit_code_of(pid_);
    pid_ = -1;
    return code;
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

/// A program of a recipe that runs beside the test, which reads its lines and sends it signals; and a server among
/// them.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/run.hpp"

namespace test_support {

/// How many times as much memory a program may need as it does without a sanitizer. AddressSanitizer keeps what has
/// been freed for a while, up to 256 MB.
#if defined(__SANITIZE_ADDRESS__)
constexpr long memory_factor = 1000;
#elif defined(__SANITIZE_THREAD__)
constexpr long memory_factor = 8;
#else
constexpr long memory_factor = 1;
#endif

/// A program that runs until it ends, or until this object does.
class BackgroundProcess {
 public:
  /// Starts the executable `name`. If `files` is not 0, it gets no more file descriptors than that.
  BackgroundProcess(const std::string& name, const std::vector<std::string>& arguments, rlim_t files = 0) {
    const std::string path = bin() + "/" + name;
    std::vector<char*> argv = {const_cast<char*>(path.c_str())};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      signal(SIGINT, SIG_DFL);
      dup2(ends[1], STDOUT_FILENO);
      const rlimit limit = {files, files};
      if (files > 0) setrlimit(RLIMIT_NOFILE, &limit);
      execv(path.c_str(), argv.data());
      _exit(127);
    }
    close(ends[1]);
    out_ = ends[0];
  }
  BackgroundProcess(const BackgroundProcess&) = delete;
  BackgroundProcess& operator=(const BackgroundProcess&) = delete;
  ~BackgroundProcess() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    close(out_);
  }

  void send_signal(int signal) const { kill(process_, signal); }

  /// The next line of its standard output; empty at the end, or after 30 seconds.
  std::string read_line() {
    std::string line;
    pollfd waiting = {out_, POLLIN, 0};
    for (char byte = 0; poll(&waiting, 1, 30'000) == 1 && read(out_, &byte, 1) == 1 && byte != '\n';) line += byte;
    return line;
  }

  /// Waits for its end; the exit code, -N if signal N ended it, or 1000 if it has not ended after 30 seconds.
  int exit_code() {
    int status = 0;
    const auto start = std::chrono::steady_clock::now();
    while (waitpid(process_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() - start > std::chrono::seconds(30)) return 1000;
      usleep(1000);
    }
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  /// Its resident memory in KiB, by /proc.
  long resident() const {
    std::ifstream status("/proc/" + std::to_string(process_) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("VmRSS:", 0) == 0) return std::stol(line.substr(6));
    }
    throw std::runtime_error("no VmRSS");
  }

  /// The seconds of processor time that it has used, by /proc.
  double processor_seconds() const {
    std::ifstream file("/proc/" + std::to_string(process_) + "/stat");
    std::string text;
    std::getline(file, text);
    std::istringstream fields(text.substr(text.rfind(')') + 2));  // from the third field on
    for (int i = 3; i < 14; ++i) fields >> text;
    long user = 0, system = 0;
    fields >> user >> system;
    return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

 private:
  pid_t process_ = -1;
  int out_ = -1;
};

/// A server, which prints its port after the last colon of its first line.
class ServerProcess : public BackgroundProcess {
 public:
  /// Starts the executable `name` and waits for that line.
  ServerProcess(const std::string& name, const std::vector<std::string>& arguments, rlim_t files = 0)
      : BackgroundProcess(name, arguments, files) {
    const std::string line = read_line();
    port = static_cast<unsigned short>(std::stoi(line.substr(line.rfind(':') + 1)));
  }

  unsigned short port = 0;
};

}  // namespace test_support

/// A worker as a child process, whose log lines can be waited for.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "cookbook/print.hpp"

namespace task_queue {

class WorkerProcess {
 public:
  /// Starts the task_queue_worker that stands beside this program, and waits until it is ready.
  explicit WorkerProcess(std::vector<std::string> arguments) {
    const std::string path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "task_queue_worker";
    std::vector<char*> argv = {const_cast<char*>(path.c_str())};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);

    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) cookbook::system_refused("pipe2");
    pid_ = fork();
    if (pid_ < 0) cookbook::system_refused("fork");
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // it shall not outlive this program, however that ends
      dup2(pipe_ends[1], STDOUT_FILENO);
      dup2(pipe_ends[1], STDERR_FILENO);
      execv(path.c_str(), argv.data());
      _exit(127);
    }
    close(pipe_ends[1]);
    log_ = pipe_ends[0];
    wait_for(" ready.");
  }

  /// In good order: a worker that is killed leaves done what it has not yet acknowledged, and it would be done again.
  ~WorkerProcess() {
    if (pid_ > 0) stop(SIGTERM);
    close(log_);
  }

  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Reads on in the log up to a line with `text`, and returns it. What is passed over is kept in lines().
  std::string wait_for(const std::string& text) {
    for (std::string line; next_line(line);) {
      lines_.push_back(line);
      if (line.find(text) != std::string::npos) return line;
    }
    cookbook::complain("the worker ended, or was silent for 30 s, before it said '" + text + "'");
    std::_Exit(3);
  }

  /// All log lines that were read.
  const std::vector<std::string>& lines() const { return lines_; }

  pid_t pid() const { return pid_; }

  /// Sends a signal, which must end it, and waits until it has. Returns its exit code, or -N for signal N.
  int stop(int signal_number) {
    kill(pid_, signal_number);
    for (std::string line; next_line(line);) lines_.push_back(line);
    kill(pid_, SIGKILL);  // of no effect, unless it has been silent for 30 s and still is there
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) cookbook::system_refused("waitpid");
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  /// False at the end of the log, or if nothing comes for 30 s.
  bool next_line(std::string& line) {
    for (;;) {
      if (const auto end = unread_.find('\n'); end != std::string::npos) {
        line = unread_.substr(0, end);
        unread_.erase(0, end + 1);
        return true;
      }
      pollfd ready = {log_, POLLIN, 0};
      char buffer[4096];
      if (poll(&ready, 1, 30'000) <= 0) return false;
      const ssize_t count = read(log_, buffer, sizeof buffer);
      if (count <= 0) return false;
      unread_.append(buffer, static_cast<std::size_t>(count));
    }
  }

  pid_t pid_ = -1;
  int log_ = -1;
  std::string unread_;
  std::vector<std::string> lines_;
};

}  // namespace task_queue

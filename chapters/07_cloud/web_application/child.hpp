/// For the visitor: another program, run as a child process.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "../../04_async/echo_server/clients.hpp"

class Child {
 public:
  /// Starts a program, found as a shell finds it. Its standard output is to be read here. It does not outlive this
  /// process. If `processor` is not -1 it stays on that one, and does not interrupt others there when it is woken: see
  /// keep_on() in 04_async/echo_server.
  explicit Child(std::vector<std::string> words, int processor = -1) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    int ends[2];
    socket_check(pipe2(ends, O_CLOEXEC), "pipe2");
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, end_all);
    process_ = socket_check(fork(), "fork");
    if (process_ == 0) {
      for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(ends[1], STDOUT_FILENO);
      if (processor >= 0) stay_on(processor);
      execvp(argv[0], argv.data());
      _exit(127);
    }
    *std::find(running_.begin(), running_.end(), 0) = process_;
    close(ends[1]);
    out_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (process_ > 0) {
      send_signal(SIGKILL);
      wait();
    }
    close(out_);
  }

  void send_signal(int signal) const { kill(process_, signal); }

  /// The next line of its output, or all that is left of it.
  std::string read_line() { return read_until('\n'); }
  std::string read_all() { return read_until(-1); }

  /// Waits for its end; the exit code, -N if signal N ended it.
  int wait() {
    int status = 0;
    socket_check(waitpid(process_, &status, 0), "waitpid");
    *std::find(running_.begin(), running_.end(), process_) = 0;
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  /// Seconds that it has been on a processor.
  double processor_seconds() const {
    clockid_t clock = {};
    timespec time = {};
    clock_getcpuclockid(process_, &clock);
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

 private:
  /// At Ctrl-C nobody is left behind: the children end first. Only calls that a signal handler may make.
  static void end_all(int signal) {
    for (const pid_t process : running_) {
      if (process > 0 && kill(process, SIGKILL) == 0) waitpid(process, nullptr, 0);
    }
    std::signal(signal, SIG_DFL);
    raise(signal);
  }

  static void stay_on(int processor) {
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    CPU_SET(processor, &chosen);
    sched_setaffinity(0, sizeof chosen, &chosen);
    const sched_param none = {};
    sched_setscheduler(0, SCHED_BATCH, &none);
  }

  std::string read_until(int last) {
    std::string text;
    for (char byte = 0; read(out_, &byte, 1) == 1 && byte != last;) text += byte;
    return text;
  }

  static inline std::array<volatile pid_t, 8> running_ = {};  ///< 0 is a free place

  pid_t process_ = -1;
  int out_ = -1;
};

/// The web application in a process of its own.
class WebServer : public Child {
 public:
  explicit WebServer(std::vector<std::string> words, int processor = -1) : Child(std::move(words), processor) {
    const std::string line = read_line();
    port = static_cast<unsigned short>(std::stoi(line.substr(line.rfind(':') + 1)));
  }

  unsigned short port = 0;
};

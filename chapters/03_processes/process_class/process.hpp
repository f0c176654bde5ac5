/// A base class for processes.
#pragma once

#include <csignal>
#include <optional>
#include <stdexcept>

#include "cookbook/process.hpp"

/// A process as an object: what it does stands in run() of a derived class. It can be started once, and its child does
/// not outlive the object.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Kills and joins a child that nobody has joined. (An error here ends the program.)
  virtual ~Process() {
    if (child_ == 0 || exit_code_) return;  // never started, or joined already
    check(kill(child_, SIGKILL), "kill");
    join();
  }

  /// What the process does. Returns the exit code.
  virtual int run() = 0;

  /// Starts a child that calls run(). The child is killed if the thread that called start() ends first. Throws
  /// std::logic_error if the process has been started before.
  void start() {
    if (child_ != 0) throw std::logic_error("a process can be started only once");
    child_ = cookbook::start_child([this] { return run(); });  // fork; in the child run(), then _exit
  }

  /// Waits for the end of the child. Returns its exit code, or -N if signal N ended it. Throws std::logic_error if the
  /// process has not been started.
  int join() {
    if (child_ == 0) throw std::logic_error("this process has not been started");
    if (!exit_code_) exit_code_ = cookbook::exit_code_of(child_);
    return *exit_code_;
  }

 private:
  pid_t child_ = 0;
  std::optional<int> exit_code_;
};

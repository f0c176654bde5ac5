/// A base class for processes.
#pragma once

#include <cxxabi.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <typeinfo>

#include "cookbook/process.hpp"

/// A process as an object: what it does stands in run() of a derived class. It can be started once, and its child does
/// not outlive the object.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Kills and joins a child that nobody has joined.
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
    if (child_ != 0) throw std::logic_error(name() + " has been started already");
    child_ = cookbook::start_child([this] { return run(); });  // fork; in the child run(), then _exit
  }

  /// Waits for the end of the child. Returns its exit code, or -N if signal N ended it. Throws std::logic_error if the
  /// process has not been started.
  int join() {
    if (child_ == 0) throw std::logic_error(name() + " has not been started");
    if (!exit_code_) exit_code_ = cookbook::exit_code_of(child_);
    return *exit_code_;
  }

  /// The class of the object and a number, such as MyProcess-1.
  std::string name() const {
    // GCC and Clang: typeid gives a coded name, such as 9MyProcess; this call makes MyProcess of it.
    char* const text = abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, nullptr);
    const std::string type = text != nullptr ? text : "Process";
    std::free(text);
    // Without the namespace. A ':' after the first '<' belongs to an argument of a class template.
    return fmt::format("{}-{}", type.substr(type.rfind(':', type.find('<')) + 1), number_);
  }

 private:
  static inline int made_ = 0;
  const int number_ = ++made_;  // one count for all derived classes
  pid_t child_ = 0;
  std::optional<int> exit_code_;
};

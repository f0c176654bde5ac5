/// A worker as a child process, whose log can be read.
#pragma once

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "../child_program.hpp"

namespace task_queue {

class WorkerProcess : public ChildProgram {
 public:
  /// Starts the task_queue_worker that stands beside this program, and waits until it is ready.
  explicit WorkerProcess(std::vector<std::string> arguments) : ChildProgram(with_path(std::move(arguments)), true) {
    wait_for(" ready.");
  }

  /// In good order: a worker that is killed leaves done what it has not yet acknowledged, and it would be done again.
  ~WorkerProcess() {
    if (pid() > 0) stop(SIGTERM);
  }

 private:
  static std::vector<std::string> with_path(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), beside_this_program("task_queue_worker"));
    return arguments;
  }
};

}  // namespace task_queue

/// Running a recipe from a test, and reading what it printed.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace test_support {

/// What a program did.
struct Result {
  int exit_code = -1;            ///< as waitpid has it; -N if signal N ended the program
  bool timed_out = false;        ///< it ran past the limit and was killed, and its whole process group with it
  int leaked_processes = 0;      ///< processes that it started and that were still there when it had ended (up to ten
                                 ///< seconds later if it failed or was killed, since then others end them); killed
  std::vector<std::string> out;  ///< the lines of standard output
  std::vector<std::string> err;  ///< the lines of standard error

  /// Whether standard output has exactly this line.
  bool has_line(const std::string& line) const;

  /// The lines of standard output in which the regular expression (std::regex, ECMAScript) is found, in order.
  std::vector<std::string> lines_with(const std::string& regex) const;

  /// The first capture of the regular expression in each line of standard output that has it, in order.
  std::vector<std::string> captures(const std::string& regex) const;

  /// Both outputs and the way it ended, to show when an expectation fails.
  std::string text() const;
};

struct RunOptions {
  std::map<std::string, std::string> environment = {};  ///< added to the test's own
  std::chrono::milliseconds limit = std::chrono::seconds(30);
  int interrupt_after_ms = -1;  ///< if not negative, the program's process group gets SIGINT after this time, as Ctrl-C
  int kill_after_ms = -1;       ///< if not negative, the program alone gets SIGKILL after this time
};

/// Runs the executable `name` of the build (or, with a slash in it, of that path) with `arguments`; standard input is
/// empty. Throws std::system_error if it cannot be started.
Result run(const std::string& name, const std::vector<std::string>& arguments = {}, const RunOptions& setting = {});

/// Runs the executable `name` of the build as so many ranks, under mpirun. They measure in one round, unless the
/// environment of the setting says otherwise (COOKBOOK_ROUNDS).
Result run_ranks(int ranks, const std::string& name, const std::vector<std::string>& arguments = {},
                 const RunOptions& setting = {});

/// Runs the run.sh of a recipe of several programs; `folder` is as in "05_distributed/task_queue".
Result run_parts(const std::string& folder, const std::vector<std::string>& arguments = {},
                 const RunOptions& setting = {});

/// The folder of the build's executables.
std::string bin();

}  // namespace test_support

/// Running a recipe's program from a test: to its end, or beside the test, which reads its lines and sends it signals.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/files.hpp"

namespace test_support {

/// What a program did.
struct Result {
  int exit_code = -1;            ///< as waitpid has it; -N if signal N ended the program
  bool timed_out = false;        ///< it ran past the limit and was killed, and its whole process group with it
  int leaked_processes = 0;      ///< processes that it started and that were still there when it had ended (up to ten
                                 ///< seconds later if it failed or was killed, since then others end them); killed
  double seconds = 0;            ///< from its start to its end
  double processor_seconds = 0;  ///< that it has used, with the children that it has waited for
  int most_threads = 0;          ///< that were there at the same time in one of its processes; 0 under a sanitizer
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
  std::map<std::string, std::string> environment = {};         ///< added to the test's own
  std::chrono::milliseconds limit = std::chrono::seconds(30);  ///< for its end, and each awaited line; see slower
  int interrupt_after_ms = -1;  ///< if not negative, the program's process group gets SIGINT after this time, as Ctrl-C
  int kill_after_ms = -1;       ///< if not negative, the program alone gets SIGKILL after this time
  std::string input = {};       ///< what it reads from standard input
  bool errors_among_output = false;  ///< as a shell's 2>&1: lines of standard error are among those of standard output
  rlim_t max_files = 0;              ///< if not 0, it gets no more file descriptors than that
  int descriptors_left = 0;          ///< so many it leaves open at its end, to show what comes of it
  bool may_leave_something = false;  ///< no failure of the test if it does what run_probe.cpp looks for
  bool probed = true;                ///< false: run_probe.cpp is not loaded into it, and nothing is a failure
};

/// A program that runs beside the test, in a process group of its own, with an empty folder for temporary files. What
/// it leaves there, and what run_probe.cpp sees, is a failure of the test, unless a signal ends the program. Several
/// can run at a time. It must not write more than a pipe holds (64 KiB) while the test neither reads lines nor waits.
class Process {
 public:
  /// Starts the executable `name` of the build (or, with a slash in it, of that path). Throws std::system_error if
  /// there is none.
  explicit Process(const std::string& name, const std::vector<std::string>& arguments = {},
                   const RunOptions& options = {});
  /// Kills it and all that it has started, if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }  ///< -1 when its end has been waited for

  /// The next line of its standard output; empty at the end, or if none comes within the limit.
  std::string read_line();

  /// Reads on up to a line with `text`, and returns that one; empty, and a failure of the test, if none comes.
  std::string read_until(const std::string& text);

  /// The lines of its standard output that were read so far.
  std::vector<std::string> lines() const;

  /// Sends a signal to it alone. Of no effect when its end has been waited for.
  void send_signal(int signal) const;

  /// Reads all that it still prints, waits for its end, and kills it at the limit. What it has left behind is ended,
  /// too: processes that have become children of the test since it was started, other than a Process. So start no other
  /// child meanwhile. The same result when it is called again.
  const Result& wait();

  /// send_signal() and wait().
  const Result& stop(int signal);

  /// Its resident memory in KiB, by /proc.
  long resident() const;

  /// The seconds of processor time that it has used, by /proc.
  double processor_seconds() const { return processor_seconds(15); }

  /// Whether it only waits: in 0.3 s it uses less than 0.1 s of processor time. One that looks again and again would
  /// use all of it.
  bool is_idle() const;

 private:
  void read_outputs(std::chrono::milliseconds limit);
  std::set<pid_t> leftovers() const;
  int reap_leftovers(std::chrono::milliseconds grace) const;
  double processor_seconds(int last_field) const;
  void look_at_traces(Result& result) const;

  RunOptions options_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  TemporaryDirectory folder_;  ///< what the probes have seen, and the program's temporary files
  std::set<pid_t> children_before_;
  pid_t pid_ = -1;
  int outputs_[2] = {-1, -1};  ///< standard output and standard error; -1: at its end
  std::string texts_[2];
  std::size_t lines_end_ = 0;  ///< where the lines end that read_line() has returned
  std::optional<Result> result_;
};

/// A server, which prints its port after the last colon of its first line.
class ServerProcess : public Process {
 public:
  /// Starts it and waits for that line.
  explicit ServerProcess(const std::string& name, const std::vector<std::string>& arguments = {},
                         const RunOptions& options = {});

  unsigned short port = 0;
};

/// Runs a program as Process does, to its end.
Result run(const std::string& name, const std::vector<std::string>& arguments = {}, const RunOptions& options = {});

/// Runs the executable `name` of the build as so many ranks, under mpirun. They measure in one round, unless the
/// environment of the options says otherwise (COOKBOOK_ROUNDS).
Result run_ranks(int ranks, const std::string& name, const std::vector<std::string>& arguments = {},
                 const RunOptions& options = {});

/// Runs the run.sh of a recipe of several programs; `folder` is as in "05_distributed/task_queue".
Result run_parts(const std::string& folder, const std::vector<std::string>& arguments = {},
                 const RunOptions& options = {});

/// The folder of the build's executables.
std::string bin();

/// How many times as much memory a program may need as it does without a sanitizer. AddressSanitizer keeps what has
/// been freed for a while, up to 256 MB.
#if defined(__SANITIZE_ADDRESS__)
constexpr long memory_factor = 1000;
#elif defined(__SANITIZE_THREAD__)
constexpr long memory_factor = 8;
#else
constexpr long memory_factor = 1;
#endif

/// The limits of RunOptions are so many times as long in a build with a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int slower = 4;
#else
constexpr int slower = 1;
#endif

}  // namespace test_support

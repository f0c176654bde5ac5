/// Child processes: each runs a function of this program, or another program. Their lines can be waited for.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cookbook/posix.hpp"
#include "cookbook/print.hpp"

/// The path of the program `name` in the folder of this one.
inline std::string beside_this_program(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
}

/// Starts a child process by fork. It does `work` and ends with the exit code that `work` returns, or with 0 if that
/// returns nothing; an exception ends it with exit code 3 and one line. Returns its id.
///
/// The kernel kills it if the thread that called this ends first, so it never outlives this program, however that ends.
template <typename Work>
pid_t start_child(Work&& work) {
  const pid_t parent = getpid();
  const pid_t child = check(fork(), "fork");
  if (child != 0) return child;

  const auto live = [&]() noexcept -> int {  // an exception must not reach the code of the parent, which is here too
    check(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
    if (getppid() != parent) return 1;  // it ended before the line above
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      work();
      return 0;
    } else {
      return work();
    }
  };
  _exit(live());  // not exit: the clean-up that exit does is the parent's
}

/// Waits for the end of a child; its exit code, or -N if signal N ended it.
inline int exit_code_of(pid_t child) {
  int status = 0;
  check(waitpid(child, &status, 0), "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// A child process that does `work`, and whose output is read here. It does not outlive the thread that has started it.
class ChildProcess {
 public:
  /// Starts it by start_child(), so start it before there are threads, event loops or connections. Its standard output
  /// is read here; with `errors_too` its standard error as well.
  explicit ChildProcess(const std::function<void()>& work, bool errors_too = false) {
    int ends[2];
    check(pipe2(ends, O_CLOEXEC), "pipe2");
    pid_ = start_child([&] {
      check(dup2(ends[1], STDOUT_FILENO), "dup2");
      if (errors_too) check(dup2(ends[1], STDERR_FILENO), "dup2");
      work();
    });
    close(ends[1]);
    output_ = ends[0];
  }

  ~ChildProcess() {
    if (pid_ > 0) stop(SIGKILL);
    close(output_);
  }

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

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
    cookbook::print_error("a child ended, or was silent for 30 s, before it said " + awaited);
    std::_Exit(3);
  }

  pid_t pid_ = -1;
  int output_ = -1;
  std::string unread_;
  std::vector<std::string> lines_;
};

/// Another program as a child process.
class ChildProgram : public ChildProcess {
 public:
  /// Starts words[0], found as a shell finds it, with the other words as arguments. `in_child` is called in the child
  /// before it becomes that program.
  explicit ChildProgram(
      std::vector<std::string> words, bool errors_too = false, const std::function<void()>& in_child = [] {})
      : ChildProcess(
            [&] {
              std::vector<char*> argv;
              for (std::string& word : words) argv.push_back(word.data());
              argv.push_back(nullptr);
              in_child();
              execvp(argv[0], argv.data());
              cookbook::print_error("cannot start " + words[0]);
              _exit(127);
            },
            errors_too) {}
};

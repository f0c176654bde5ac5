/// Child processes: starting one, reading what it prints, waiting for its end, killing it and all that it has started.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cookbook/posix.hpp"

namespace cookbook {

/// Called in a child: the kernel sends this process `signal` when the thread of `parent` that has started it ends. Ends
/// this process with exit code 1 if `parent` has ended already. 0: no signal is sent.
void end_with_parent(pid_t parent, int signal = SIGKILL);

/// Starts a child process by fork. The child calls `work` and ends with the exit code that `work` returns, or with 0 if
/// it returns nothing; an exception ends it (after Options::parse() with exit code 3 and one line). Returns the child's
/// process id.
///
/// The kernel sends the child `death_signal` if the thread that called this function ends first. So the child does not
/// outlive this program, in whatever way the program ends. With 0 it may outlive it.
template <typename Work>
pid_t start_child(Work&& work, int death_signal = SIGKILL) {
  const pid_t parent = getpid();
  const pid_t child = check(fork(), "fork");
  if (child != 0) return child;

  const auto live = [&]() noexcept -> int {  // an exception must not reach the parent's code, which was copied as well
    end_with_parent(parent, death_signal);
    if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
      work();
      return 0;
    } else {
      return work();
    }
  };
  _exit(live());  // not exit(), which would do the parent's clean-up a second time
}

/// Waits until a child has ended. Returns its exit code, or -N if signal N ended it.
int exit_code_of(pid_t child);

/// The same, but waits no longer than `limit`; nothing if the child is still there then.
std::optional<int> exit_code_of(pid_t child, std::chrono::milliseconds limit);

/// Kills a process, its children, their children and so on, by SIGKILL, also those that have left its process group. It
/// does not find those whose own parent has ended. Of no effect if there is no such process.
void kill_tree(pid_t process);

/// The path of the program `name` in the folder of this one.
std::string beside_this_program(const std::string& name);

/// Becomes the program words[0], found as a shell finds it, with the other words as arguments. If it cannot, it says so
/// on standard error and ends this process with exit code 127.
[[noreturn]] void become_program(std::vector<std::string> words);

/// A child process. It does not outlive this object, nor the thread that has made it.
class ChildProcess {
 public:
  /// Where its output goes: where this program's goes, or to this object, which reads it, without or with standard
  /// error.
  enum class Output { inherited, piped, piped_with_errors };

  /// Starts it by start_child(), so start it before there are threads, event loops or connections.
  explicit ChildProcess(const std::function<void()>& work, Output output = Output::piped);
  /// Kills it, and all that it has started.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }  ///< -1 when its end has been waited for

  /// The next line that it prints; ends this program with exit code 3 if none comes within 30 s.
  std::string read_line();

  /// Reads on up to a line with `text`, and returns that one; ends this program with exit code 3 if it ends, or is
  /// silent for 30 s, before.
  std::string read_until(const std::string& text);

  /// All that it prints from now to its end, or until it has been silent for so long.
  std::string read_all(std::chrono::milliseconds silence = max_silence);

  /// All lines that were read so far.
  const std::vector<std::string>& lines() const { return lines_; }

  /// Sends it a signal. Of no effect, and false, if its end has been waited for.
  bool send_signal(int signal) const;

  /// Waits for its end. Returns the exit code, or -N if signal N ended it; the same when it is called again.
  int wait();

  /// The same, but waits no longer than `limit`; nothing if it is still there then.
  std::optional<int> wait(std::chrono::milliseconds limit);

  /// Sends a signal, which must end it, reads what it still has to say, and waits for its end; see wait(). Kills it if
  /// it is then silent for 30 s, and is still there.
  int stop(int signal);

 private:
  static constexpr std::chrono::milliseconds max_silence{30'000};

  std::optional<std::string> next_line(std::chrono::milliseconds silence = max_silence);

  pid_t pid_ = -1;
  int output_ = -1;
  std::optional<int> exit_code_;
  std::string unread_;
  std::vector<std::string> lines_;
};

/// Another program as a child process.
class ChildProgram : public ChildProcess {
 public:
  /// Starts words[0] as become_program() does. `in_child` is called in the child before it becomes that program.
  explicit ChildProgram(
      std::vector<std::string> words, Output output = Output::piped, const std::function<void()>& in_child = [] {})
      : ChildProcess(
            [&] {
              in_child();
              become_program(std::move(words));
            },
            output) {}
};

}  // namespace cookbook

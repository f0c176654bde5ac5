// Background processes
//
// A daemon is a child that works in the background until its main program ends. At its end, main ends the daemon by a
// signal, and waits until another child has finished. But if main is killed, it cannot do that any more, and a child of
// plain fork is left behind. A daemon is not, because it has asked the kernel for a signal when its parent ends.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/background_process/background_process.cpp common/cookbook/*.cpp -lfmt -o background_process
// Run:     background_process [--delay-ms N]

#include <sys/wait.h>

#include <chrono>
#include <string>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "daemon.hpp"
#include "one_shot_event.hpp"
#include "shared_memory.hpp"

namespace {

constexpr std::chrono::minutes a_long_time(1);

void work(const std::string& name, std::chrono::milliseconds delay, const OneShotEvent& begun) {
  cookbook::println("Starting {}", name);
  begun.give();
  std::this_thread::sleep_for(delay);
  cookbook::println("Exiting {}", name);
}

/// The naive way to start a child in the background.
template <typename Work>
pid_t start_by_fork(Work work) {
  const pid_t child = check(fork(), "fork");
  if (child != 0) return child;
  work();
  _exit(0);
}

/// A main program, in a process of its own, that starts a child as a daemon or by plain fork, and is killed. Returns
/// the child's id.
pid_t child_of_a_killed_main(bool as_daemon) {
  const Shared<pid_t> child;
  const pid_t main_program = cookbook::start_child([&] {
    OneShotEvent begun;
    const auto work_long = [&] {
      begun.give();
      std::this_thread::sleep_for(a_long_time);
    };
    *child = as_daemon ? start_daemon(work_long) : start_by_fork(work_long);
    begun.wait();
    raise(SIGKILL);
  });
  cookbook::exit_code_of(main_program);
  return *child;
}

}  // namespace

int main(int argc, char** argv) {
  int delay_ms = 50;
  cookbook::Options options("Run a process in the background, as long as its parent runs");
  options.add("delay-ms", delay_ms, "how long the child works that is waited for, in ms", 1, 10'000);
  options.parse(argc, argv);

  OneShotEvent daemon_begun, other_begun;
  const pid_t daemon = start_daemon([&] { work("background_process", a_long_time, daemon_begun); });
  daemon_begun.wait();
  const pid_t other =
      cookbook::start_child([&] { work("NO_background_process", std::chrono::milliseconds(delay_ms), other_begun); });
  other_begun.wait();

  // Main has nothing more to do. First it ends its daemons, and then it waits for its other children.
  check(kill(daemon, SIGTERM), "kill");
  const int daemon_code = cookbook::exit_code_of(daemon);
  const int other_code = cookbook::exit_code_of(other);

  cookbook::Checks checks;
  checks.equal("exit code of the daemon", daemon_code, -SIGTERM);
  checks.equal("exit code of the other child", other_code, 0);

  // A child whose parent has ended gets a new parent: the first process of the system, or an ancestor that has asked
  // for it, as this one does, so that it can see how the child ends.
  check(prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl");
  const pid_t left_behind = child_of_a_killed_main(false);
  checks.equal("main is killed: its child of plain fork runs", waitpid(left_behind, nullptr, WNOHANG) == 0, true);
  check(kill(left_behind, SIGKILL), "kill");
  cookbook::exit_code_of(left_behind);

  const pid_t ended = child_of_a_killed_main(true);
  checks.equal("main is killed: exit code of its daemon", cookbook::exit_code_of(ended), -SIGTERM);
  return checks.exit_code();
}

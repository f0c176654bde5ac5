// Background processes
//
// A daemon is a child that nobody waits for: it serves as long as its main program runs, and ends with it. Another
// child is waited for. When main is done, it ends its daemons and then waits for the others; but main may also be
// killed, and then it does nothing more. So a daemon asks the kernel to be ended when its parent ends, in whatever way.
// Then: what happens if the parent was faster, what becomes of a child that did not ask, and why a daemon may have no
// children.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/background_process/background_process.cpp common/cookbook/*.cpp -lfmt -o background_process
// Run:     background_process [--delay-ms N]

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "child.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "shared_memory.hpp"
#include "sign.hpp"

namespace {

bool is_daemon = false;  // whether this process is one; every process has a variable of its own

void refuse_to_a_daemon() {
  if (is_daemon) throw std::logic_error("daemonic processes are not allowed to have children");
}

/// Called by a child: from now on the kernel sends it SIGTERM when its parent has ended.
void end_with_parent(pid_t parent) {
  check(prctl(PR_SET_PDEATHSIG, SIGTERM), "prctl");
  if (getppid() != parent) raise(SIGTERM);  // the parent had ended before; then the kernel sends nothing
}

/// Starts a child that ends when this process does, if it has not ended by itself.
template <typename Work>
pid_t start_daemon(Work work) {
  refuse_to_a_daemon();
  const pid_t parent = getpid();
  const pid_t child = check(fork(), "fork");
  if (child != 0) return child;

  is_daemon = true;
  end_with_parent(parent);
  [&]() noexcept { work(); }();  // an exception must not reach the parent's code, which is here too
  _exit(0);
}

/// Starts a child that this process waits for.
template <typename Work>
pid_t start_process(Work work) {
  refuse_to_a_daemon();
  return start_child(work);
}

/// The last thing that a main program does: it ends its daemons, and then waits for its other children. How they ended.
std::vector<int> end_of_main(const std::vector<pid_t>& daemons, const std::vector<pid_t>& others) {
  std::vector<int> exit_codes;
  for (const pid_t daemon : daemons) check(kill(daemon, SIGTERM), "kill");  // a request, not a wait
  for (const pid_t daemon : daemons) exit_codes.push_back(exit_code_of(daemon));
  for (const pid_t other : others) exit_codes.push_back(exit_code_of(other));
  return exit_codes;
}

/// What a child does: it serves for `delay`. It gives a sign when it has begun.
void serve(const std::string& name, std::chrono::milliseconds delay, const Sign& begun) {
  cookbook::println("Starting {}", name);
  begun.give();
  std::this_thread::sleep_for(delay);
  cookbook::println("Exiting {}", name);
}

constexpr std::chrono::minutes a_long_time(1);

/// The program of the source: main is done as soon as both children have begun.
std::vector<int> main_ends_first(std::chrono::milliseconds delay) {
  Sign daemon_begun;
  const pid_t daemon = start_daemon([&] { serve("background_process", a_long_time, daemon_begun); });
  daemon_begun.wait();
  Sign other_begun;
  const pid_t other = start_process([&] { serve("NO_background_process", delay, other_begun); });
  other_begun.wait();
  return end_of_main({daemon}, {other});
}

/// The same, but main has more to do than the daemon: it is done when the daemon has ended.
std::vector<int> daemon_ends_first(std::chrono::milliseconds delay) {
  const Sign begun;
  const pid_t daemon = start_daemon([&] { serve("background_process", delay, begun); });
  siginfo_t info{};
  check(waitid(P_PID, static_cast<id_t>(daemon), &info, WEXITED | WNOWAIT), "waitid");  // does not reap it
  return end_of_main({daemon}, {});
}

/// How often a daemon is refused that wants to start a daemon and another child.
int refusals_to_a_daemon() {
  const Shared<int> refusals;
  const auto attempt = [&](auto start) {
    try {
      start();
    } catch (const std::logic_error& error) {
      cookbook::println("A daemon that wants a child: {}", error.what());
      ++*refusals;
    }
  };
  exit_code_of(start_daemon([&] {
    attempt([] { start_daemon([] {}); });
    attempt([] { start_process([] {}); });
  }));
  return *refusals;
}

/// A main program in a process of its own makes a child by `start` and then ends without a thought of it: by a signal,
/// or by its return if that is 0. How the two ended.
template <typename Start>
std::vector<int> forgetful_main(Start start, int signal) {
  const Shared<pid_t> child;
  const pid_t main_program = start_child([&] {
    Sign begun;
    *child = start(begun);
    begun.wait();
    if (signal != 0) raise(signal);
  });
  const int exit_code = exit_code_of(main_program);
  return {exit_code, exit_code_of(*child)};
}

pid_t start_lasting_daemon(const Sign& begun) {
  return start_daemon([&] {
    begun.give();
    std::this_thread::sleep_for(a_long_time);
  });
}

/// A child that does not end with its parent; when it has become an orphan it goes on with `work`.
template <typename Work>
pid_t start_orphan(const Sign& begun, Work work) {
  const pid_t parent = getpid();
  const pid_t child = check(fork(), "fork");
  if (child != 0) return child;
  begun.give();
  while (getppid() == parent) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  work(parent);
  _exit(7);
}

}  // namespace

int main(int argc, char** argv) {
  int delay_ms = 50;
  cookbook::Options options("Run a process in the background, as long as its parent runs");
  options.add("delay-ms", delay_ms, "how long a process serves, in ms", 1, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds delay(delay_ms);

  cookbook::Checks checks;
  checks.equal("exit codes of daemon and other, main done first", main_ends_first(delay), {-SIGTERM, 0});
  checks.equal("exit code of the daemon, done before main", daemon_ends_first(delay), {0});
  checks.equal("children refused to a daemon", refusals_to_a_daemon(), 2);

  // A child whose parent has ended becomes a child of process 1, or of an ancestor that asks for it, as this one does.
  check(prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl");
  checks.equal("main returns and forgets its daemon; exit codes", forgetful_main(start_lasting_daemon, 0),
               {0, -SIGTERM});
  checks.equal("main is killed; exit codes", forgetful_main(start_lasting_daemon, SIGKILL), {-SIGKILL, -SIGTERM});
  const auto late = [](const Sign& begun) { return start_orphan(begun, end_with_parent); };
  checks.equal("its daemon asked too late; exit codes", forgetful_main(late, SIGKILL), {-SIGKILL, -SIGTERM});
  const auto none = [](const Sign& begun) { return start_orphan(begun, [](pid_t) {}); };
  checks.equal("its child did not ask; exit codes", forgetful_main(none, SIGKILL), {-SIGKILL, 7});
  checks.equal("no child is left", waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD, true);
  return checks.exit_code();
}

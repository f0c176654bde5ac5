// Kill a process
//
// A child that would work for a minute is told to terminate. Before its start, while it runs, right after the signal
// and after the join the parent looks whether it is alive and how it ended. The exit code, -15, names the signal that
// ended it. The child held a lock, and the dead do not clean up. So the second half asks by a signal that a child can
// catch, and kills only after a time limit: once by process id, once by a pidfd, which never means another process.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/kill_process/kill_process.cpp common/cookbook/*.cpp -lfmt -o kill_process
// Run:     kill_process [--grace-ms N] [--work-ms N]

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

extern "C" {  // glibc 2.36 leaves that to who includes it, 2.37 does it itself
#include <sys/pidfd.h>
}

#include "child.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "shared_memory.hpp"
#include "workers.hpp"

namespace {

/// A child, from before its start until after its join.
struct Child {
  pid_t id = 0;                       ///< 0 before the start
  std::optional<int> exit_code = {};  ///< none before the join; -N if signal N ended it
};

/// Whether a child runs. It is only looked at (WNOWAIT), so it can be joined later.
bool is_alive(const Child& child) {
  if (child.id == 0 || child.exit_code) return false;  // once joined, the id may be that of another process
  siginfo_t end{};
  check(waitid(P_PID, static_cast<id_t>(child.id), &end, WEXITED | WNOHANG | WNOWAIT), "waitid");
  return end.si_pid == 0;
}

/// Waits until the child has ended, and takes its exit code from the kernel, which then forgets the child.
void join(Child& child) {
  int status = 0;
  check(waitpid(child.id, &status, 0), "waitpid");
  child.exit_code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/// Asks a child to end, by SIGTERM; kills it if it has not done so within `grace`. Returns its exit code.
int stop(Child child, milliseconds grace) {
  check(kill(child.id, SIGTERM), "kill");
  const Clock::time_point deadline = Clock::now() + grace;
  while (is_alive(child) && Clock::now() < deadline) std::this_thread::sleep_for(milliseconds(1));
  if (is_alive(child)) check(kill(child.id, SIGKILL), "kill");  // cannot be caught or ignored
  join(child);
  return *child.exit_code;
}

/// The same by a pidfd, a descriptor that stands for this very process: poll sleeps until the child has ended, or the
/// time is over.
int stop_by_pidfd(Child child, milliseconds grace) {
  const int process = check(pidfd_open(child.id, 0), "pidfd_open");
  check(pidfd_send_signal(process, SIGTERM, nullptr, 0), "pidfd_send_signal");
  pollfd ended = {process, POLLIN, 0};
  if (check(poll(&ended, 1, static_cast<int>(grace.count())), "poll") == 0) {
    check(pidfd_send_signal(process, SIGKILL, nullptr, 0), "pidfd_send_signal");
  }
  siginfo_t end{};
  check(waitid(P_PIDFD, static_cast<id_t>(process), &end, WEXITED), "waitid");
  close(process);
  return end.si_code == CLD_EXITED ? end.si_status : -end.si_status;
}

/// What the system says to a signal for a child that has been joined. With kill(id, ...) it might have another process.
std::string signal_to_the_dead() {
  const pid_t child = start_child([] { return 0; });
  const int process = check(pidfd_open(child, 0), "pidfd_open");
  exit_code_of(child);
  const int result = pidfd_send_signal(process, SIGKILL, nullptr, 0);
  const std::string answer = result == 0 ? "sent" : std::strerror(errno);
  close(process);
  return answer;
}

/// Some kernels have no pidfd (before Linux 5.3), and some containers forbid it.
bool pidfd_here() {
  const int process = pidfd_open(getpid(), 0);
  if (process == -1 && (errno == ENOSYS || errno == EPERM)) return false;
  close(check(process, "pidfd_open"));
  return true;
}

int exit_code_after(int signal) {
  const pid_t child = start_child([] { pause(); });
  check(kill(child, signal), "kill");
  return exit_code_of(child);
}

void show(const char* when, const Child& child) {
  const bool alive = is_alive(child);
  cookbook::println("{:<26} alive {:<5}  exit code {}", when, alive,
                    child.exit_code ? std::to_string(*child.exit_code) : "none yet");
}

/// One child that is told to terminate, looked at from before its start until after its join.
void life_of_a_child(cookbook::Checks& checks, Board& board, milliseconds time) {
  Child child;
  show("Process before execution:", child);
  checks.equal("alive before the start", is_alive(child), false);

  child.id = start(work, board, time);
  show("Process running:", child);
  checks.equal("alive while it runs", is_alive(child), true);

  check(kill(child.id, SIGTERM), "kill");
  show("Process terminated:", child);  // the signal is sent; whether it has done its work already is a race

  join(child);
  show("Process joined:", child);
  checks.equal("alive after the join", is_alive(child), false);
  checks.equal("exit code", child.exit_code.value_or(0), -SIGTERM);
  checks.equal("the dead child still holds the lock", board.holder == child.id, true);
}

/// Stops two children by `stop_child`: one that listens to SIGTERM, and one that ignores it.
template <typename Stop>
void stop_two(cookbook::Checks& checks, Board& board, milliseconds time, milliseconds grace, Stop stop_child) {
  const Child polite = {start(work_until_told, board, time)};
  checks.equal("exit code of a child that listens", stop_child(polite, milliseconds(10'000)), 0);
  checks.equal("it gave the lock back", board.holder == 0, true);

  const Child stubborn = {start(work_stubbornly, board, time)};
  const Clock::time_point asked = Clock::now();
  checks.equal("exit code of a child that does not", stop_child(stubborn, grace), -SIGKILL);
  checks.that("it was given its time", Clock::now() - asked >= grace);
  checks.equal("it gave the lock back", board.holder == 0, false);
}

}  // namespace

int main(int argc, char** argv) {
  int grace_ms = 50, work_ms = 60'000;
  cookbook::Options options("Stop a child process at once, or ask it first");
  options.add("grace-ms", grace_ms, "time that the child gets which ignores SIGTERM, in ms", 0, 60'000);
  options.add("work-ms", work_ms, "time for which a child would work, in ms", 10'000, 3'600'000);
  options.parse(argc, argv);
  const milliseconds time(work_ms), grace(grace_ms);

  cookbook::Checks checks;
  const Shared<Board> board;
  life_of_a_child(checks, *board, time);

  const std::vector<int> codes = {exit_code_of(start_child([] { return 0; })),
                                  exit_code_of(start_child([] { return 3; })), exit_code_after(SIGTERM),
                                  exit_code_after(SIGKILL)};
  checks.equal("exit codes of return 0, return 3, SIGTERM, SIGKILL", codes, {0, 3, -15, -9});

  cookbook::println("Asked first, by process id:");
  stop_two(checks, *board, time, grace, stop);
  if (pidfd_here()) {
    cookbook::println("Asked first, by pidfd:");
    stop_two(checks, *board, time, grace, stop_by_pidfd);
    checks.equal("a signal after the join", signal_to_the_dead(), "No such process");
  } else {
    cookbook::println("No pidfd on this kernel, so that part is left out");
  }
  checks.equal("functions that came to their end", board->finished.load(), 0);
  return checks.exit_code();
}

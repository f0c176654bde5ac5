// Background processes
//
// What becomes of a child when the main program ends? Four main programs are run in a process of their own, twice each:
// main either returns, or is killed. Before it returns, the first one does nothing about its child, the second one
// waits for it, and the third one kills it. The fourth one does nothing either, but its child has asked the kernel to
// end it with main. The program prints what it sees of each child after the end of main.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/background_process/background_process.cpp common/cookbook/*.cpp -lfmt -o background_process
// Run:     background_process [--delay-ms N]

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "daemon.hpp"
#include "one_shot_event.hpp"
#include "shared_memory.hpp"

namespace {

using std::chrono::milliseconds;
using Work = std::function<void()>;

/// Starts a child that does not ask the kernel to end it.
pid_t plain_fork(const Work& work) {
  const pid_t child = check(fork(), "fork");
  if (child != 0) return child;
  work();
  _exit(0);
}

// Four main programs. Each starts a child that does `work`, does something itself, and returns: the exit code of the
// child, if it has waited for it. `child` lies in shared memory.

std::optional<int> main_that_does_nothing(const Work& work, pid_t& child, const Work& do_something) {
  child = plain_fork(work);
  do_something();
  return {};
}

std::optional<int> main_that_waits(const Work& work, pid_t& child, const Work& do_something) {
  child = plain_fork(work);
  do_something();
  return cookbook::exit_code_of(child);
}

std::optional<int> main_that_kills_it(const Work& work, pid_t& child, const Work& do_something) {
  child = plain_fork(work);
  do_something();
  check(kill(child, SIGKILL), "kill");
  return cookbook::exit_code_of(child);
}

std::optional<int> main_with_a_daemon(const Work& work, pid_t& child, const Work& do_something) {
  child = start_daemon(work);  // asks the kernel for SIGTERM at the end of main
  do_something();
  return {};
}

constexpr int works_on = 256;  // in place of an exit code, which is less

using Main = decltype(main_that_waits);

/// Runs a main program in a process of its own, and kills it while its child works if `killed`. Returns the exit code
/// of the child, or nothing if it still works `limit` after the end of main.
std::optional<int> child_after(Main& main_program, bool killed, milliseconds work_time, milliseconds limit) {
  struct Notes {
    pid_t child;
    std::optional<int> code;
  };
  const Shared<Notes> notes;
  cookbook::exit_code_of(cookbook::start_child([&] {
    OneShotEvent begun;
    const auto work = [&] {
      begun.give();
      std::this_thread::sleep_for(work_time);
    };
    notes->code = main_program(work, notes->child, [&] {
      begun.wait();
      if (killed) raise(SIGKILL);
    });
  }));
  if (notes->code) return notes->code;
  if (notes->child <= 0) throw std::logic_error("main has started no child");  // 0 would be this whole process group
  const auto code = cookbook::exit_code_of(notes->child, limit);
  if (code) return code;
  check(kill(notes->child, SIGKILL), "kill");
  cookbook::exit_code_of(notes->child);
  return {};
}

/// Prints what becomes of the child if main returns, and if it is killed.
std::vector<int> print_row(const char* name, Main& main_program, milliseconds work_time, milliseconds limit) {
  std::vector<std::string> fates;
  std::vector<int> codes;
  for (const bool killed : {false, true}) {
    // Where main is killed, the work takes long enough for that.
    const auto code = child_after(main_program, killed, killed ? std::chrono::seconds(3) : work_time, limit);
    fates.push_back(!code        ? "works on"
                    : *code >= 0 ? fmt::format("finishes, exit code {}", *code)
                                 : fmt::format("ended by signal {}", -*code));
    codes.push_back(code.value_or(works_on));
  }
  cookbook::println("{:<33}{:<25}{}", name, fates[0], fates[1]);
  return codes;
}

}  // namespace

int main(int argc, char** argv) {
  int delay_ms = 50;
  cookbook::Options options("Run a process in the background, as long as its parent runs");
  options.add("delay-ms", delay_ms, "how long the child works that is waited for, in ms", 1, 10'000);
  options.parse(argc, argv);

  // A child whose parent has ended gets a new parent: the first process of its PID namespace, or an ancestor that has
  // asked for it, as this one does, so that it can see how the child ends.
  check(prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl");
  constexpr std::chrono::minutes a_long_time(1);
  constexpr milliseconds soon(100);
  constexpr std::chrono::seconds in_time(30);
  const milliseconds delay(delay_ms);
  cookbook::println("main, unless it is killed, ...   child, if main returns   child, if main is killed");
  const auto nothing = print_row("does nothing", main_that_does_nothing, std::chrono::seconds(3), soon);
  const auto waited = print_row("waits for its child", main_that_waits, delay, soon);
  const auto killed = print_row("kills its child", main_that_kills_it, a_long_time, soon);
  const auto daemon = print_row("does nothing, child is a daemon", main_with_a_daemon, a_long_time, in_time);

  cookbook::Checks checks;
  const auto left = std::ranges::count(nothing, works_on) + std::ranges::count(waited, works_on) +
                    std::ranges::count(killed, works_on);
  checks.equal("children of plain fork that are left behind, of 6", left, 4);
  checks.equal("exit codes where main waits for its child, or kills it", std::vector{waited[0], killed[0]},
               {0, -SIGKILL});
  checks.equal("exit codes of the daemons", daemon, {-SIGTERM, -SIGTERM});
  return checks.exit_code();
}

// Kill a process
//
// Three children are stopped in the middle of their work: each gets SIGTERM, which asks it to end, and SIGKILL if it
// has not ended after a time limit. One does not handle SIGTERM, one handles it and cleans up, and one ignores it. The
// program prints how long each took to end, its exit code, and whether it could clean up.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/kill_process/kill_process.cpp common/cookbook/*.cpp -lfmt -o kill_process
// Run:     kill_process [--grace-ms N]

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "one_shot_event.hpp"
#include "shared_memory.hpp"
#include "stop.hpp"

namespace {

// `volatile` because a handler changes it. (No run of this program shows that it is needed: the compiler loads it anew
// after each call of sleep_for.)
volatile std::sig_atomic_t told_to_end = 0;

// What a child does with SIGTERM: the default action ends it (set here, since a child inherits that its parent ignores
// a signal), a handler notes it, or it is ignored.
void do_not_handle() { std::signal(SIGTERM, SIG_DFL); }
void handle() {
  std::signal(SIGTERM, [](int) { told_to_end = 1; });
}
void ignore() { std::signal(SIGTERM, SIG_IGN); }

/// A child at work. It looks before each step whether it has been told to end, and cleans up when it has.
struct Worker {
  Shared<bool> has_cleaned_up{false};
  pid_t child;

  explicit Worker(void (*prepare)()) {
    OneShotEvent begun;
    child = cookbook::start_child([&] {
      prepare();
      begun.give();
      for (int step = 0; step < 6'000 && !told_to_end; ++step) {  // a minute
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      *has_cleaned_up = true;
    });
    begun.wait();  // so that the signal does not come before the handler is there
  }
};

struct Row {
  int exit_code;
  bool has_cleaned_up;
};

Row print_row(const char* what_it_does, void (*prepare)(), std::chrono::milliseconds grace) {
  const Worker worker(prepare);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // then it is in the middle of a step
  const cookbook::Stopwatch watch;
  const int code = stop(worker.child, grace);
  cookbook::println("{:<24}{:8} ms{:10.1f} ms{:12}   {}", what_it_does, grace.count(), watch.seconds() * 1e3, code,
                    *worker.has_cleaned_up ? "yes" : "no");
  return {code, *worker.has_cleaned_up};
}

}  // namespace

int main(int argc, char** argv) {
  int grace_ms = 100;
  cookbook::Options options("Ask a child process to end, and kill it if it does not");
  options.add("grace-ms", grace_ms, "time limit of the child that ignores SIGTERM, in ms", 0, 60'000);
  options.parse(argc, argv);

  std::signal(SIGCHLD, SIG_DFL);  // a parent may have let us ignore it: then the system would join the children

  cookbook::println("a child that ...         time limit   ends after   exit code   cleans up");
  const std::chrono::seconds enough(10);  // also on a busy machine
  const Row killed = print_row("does not handle SIGTERM", do_not_handle, enough);
  const Row polite = print_row("handles SIGTERM", handle, enough);
  const Row stubborn = print_row("ignores SIGTERM", ignore, std::chrono::milliseconds(grace_ms));

  cookbook::Checks checks;
  checks.equal("exit codes", std::vector{killed.exit_code, polite.exit_code, stubborn.exit_code},
               {-SIGTERM, 0, -SIGKILL});
  checks.equal("clean-ups", killed.has_cleaned_up + polite.has_cleaned_up + stubborn.has_cleaned_up, 1);
  return checks.exit_code();
}

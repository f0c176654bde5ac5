// Kill a process
//
// A child that would work for a minute gets the signal SIGTERM. The parent looks whether it is alive, before and after,
// and reads how it ended: its exit code is -15, minus the number of the signal. Such a child cannot clean up. So two
// more children are stopped politely. One handles the signal, cleans up and ends by itself. The other one ignores it,
// and is killed after a time limit.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/kill_process/kill_process.cpp common/cookbook/*.cpp -lfmt -o kill_process
// Run:     kill_process [--grace-ms N]

#include <chrono>
#include <csignal>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "one_shot_event.hpp"
#include "stop.hpp"

namespace {

volatile std::sig_atomic_t told_to_end = 0;

void work(const OneShotEvent& begun) {
  cookbook::println("  Starting function");
  begun.give();
  for (int step = 0; step < 6'000 && !told_to_end; ++step) {  // a minute
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!told_to_end) cookbook::println("  Finished function");
}

/// Handles SIGTERM: the handler only notes the signal, and the work ends where nothing is half done.
void work_politely(const OneShotEvent& begun) {
  std::signal(SIGTERM, [](int) { told_to_end = 1; });
  work(begun);
  cookbook::println("  told to end, cleaning up");
}

void work_stubbornly(const OneShotEvent& begun) {
  std::signal(SIGTERM, SIG_IGN);
  work(begun);
}

/// Starts a child with one of these functions. Returns when its work has begun, so that the signal does not come first.
pid_t start(void (*function)(const OneShotEvent&)) {
  OneShotEvent begun;
  const pid_t child = cookbook::start_child([&] { function(begun); });
  begun.wait();
  return child;
}

}  // namespace

int main(int argc, char** argv) {
  int grace_ms = 50;
  cookbook::Options options("Terminate a child process, or ask it first");
  options.add("grace-ms", grace_ms, "time that a child gets to end by itself, in ms", 0, 60'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  const pid_t child = start(work);
  checks.equal("alive while it works", is_alive(child), true);
  check(kill(child, SIGTERM), "kill");  // sends the signal, and does not wait for what comes of it
  cookbook::println("      alive right after the signal: {}", is_alive(child));
  checks.equal("exit code after the join", cookbook::exit_code_of(child), -SIGTERM);

  const pid_t polite = start(work_politely);
  checks.equal("exit code of a child that handles SIGTERM", stop(polite, std::chrono::seconds(10)), 0);

  const pid_t stubborn = start(work_stubbornly);
  checks.equal("exit code of a child that ignores SIGTERM", stop(stubborn, std::chrono::milliseconds(grace_ms)),
               -SIGKILL);
  return checks.exit_code();
}

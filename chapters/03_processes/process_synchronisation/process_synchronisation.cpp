// Process synchronisation
//
// What does a barrier change? Two processes work in two phases. The one that is quick in the first phase is slow in the
// second. First two processes do this and meet at a barrier after each phase, p1 and p2. Then p3 and p4 do the same
// work without it. The program prints when each came to the end of a phase, and when it went on.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_synchronisation/process_synchronisation.cpp common/cookbook/*.cpp -lfmt -pthread -o process_synchronisation
// Run:     process_synchronisation [--unit-ms N]

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "barrier.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"

namespace {

using Clock = std::chrono::steady_clock;  // the same for all processes of a machine
constexpr std::chrono::seconds timeout(10);

struct Phase {
  int units;                    // of work
  Clock::time_point came = {};  // when the work was done
  Clock::time_point went_on = {};
};

/// What two processes do and note. Made in memory that they share, with the barrier.
struct Board {
  Barrier barrier{2};
  Phase phases[2][2] = {{{1}, {4}}, {{4}, {1}}};  // of the one, and of the other
};

/// What each of the two processes does. Returns its exit code: 1 if the other has not come in time.
int work_in_phases(Board& board, int self, std::chrono::milliseconds unit, bool with_barrier) {
  for (Phase& phase : board.phases[self]) {
    std::this_thread::sleep_for(phase.units * unit);  // stands for work
    phase.came = Clock::now();
    const bool all_here = !with_barrier || board.barrier.wait_for(timeout);
    phase.went_on = Clock::now();
    if (!all_here) return 1;  // the time limit has passed: no further phase
  }
  return 0;
}

/// Whether in each phase neither of the two went on before both had come.
bool both_waited(const Board& board) {
  bool waited = true;
  for (const int phase : {0, 1}) {
    const Phase &one = board.phases[0][phase], &other = board.phases[1][phase];
    waited = waited && std::min(one.went_on, other.went_on) >= std::max(one.came, other.came);
  }
  return waited;
}

/// Starts two processes, waits for both, and prints a line for each. Returns whether none went on before both had come.
bool show(const char* title, const std::vector<const char*>& names, std::chrono::milliseconds unit, bool with_barrier) {
  const Shared<Board> board;
  const auto start = Clock::now();
  std::vector<pid_t> children;
  for (const int self : {0, 1}) {
    children.push_back(cookbook::start_child([&] { return work_in_phases(*board, self, unit, with_barrier); }));
  }
  bool all_ended_well = true;
  for (const pid_t child : children) all_ended_well = cookbook::exit_code_of(child) == 0 && all_ended_well;

  const auto text = [&](Clock::time_point time) {
    if (time < start) return std::string("-");  // it has not come so far
    return fmt::format("{:.1f} ms", std::chrono::duration<double, std::milli>(time - start).count());
  };
  for (const int self : {0, 1}) {
    const auto& [first, second] = board->phases[self];
    cookbook::println("{:<17} {}{:>15}{:>11}{:>15}{:>11}", self == 0 ? title : "", names[self], text(first.came),
                      text(first.went_on), text(second.came), text(second.went_on));
  }
  return all_ended_well && both_waited(*board);
}

}  // namespace

int main(int argc, char** argv) {
  int unit_ms = 10;
  cookbook::Options options("Let processes wait for each other at a barrier");
  options.add("unit-ms", unit_ms, "how long a process works in its short phase, in ms; four times as long in the other",
              0, 1'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds unit(unit_ms);

  cookbook::println("{:>46}{:>26}", "phase 1: came, went on", "phase 2: came, went on");
  const bool waited = show("with a barrier", {"p1", "p2"}, unit, true);
  show("without a barrier", {"p3", "p4"}, unit, false);

  cookbook::Checks checks;
  checks.that("with the barrier, neither went on before both had come", waited);
  return checks.exit_code();
}

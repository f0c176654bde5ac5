// Process synchronisation
//
// What does a barrier change? Two processes work in two phases, and each needs the other's results of the first phase
// in the second one. A is quick in the first phase, and B in the second. They do this twice, with a barrier between the
// phases and without one. The program prints how much of the other's results each has found, and what the wait cost.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_synchronisation/process_synchronisation.cpp common/cookbook/*.cpp -lfmt -pthread -o process_synchronisation
// Run:     process_synchronisation [--unit-ms N]

#include <atomic>
#include <chrono>
#include <thread>

#include "barrier.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "shared_memory.hpp"

namespace {

constexpr std::chrono::seconds timeout(10);
constexpr int units[2][2] = {{1, 4}, {4, 1}};  // of work: those of A in the first phase and in the second, those of B

/// What a process tells the other one, and notes for the table.
struct Notes {
  std::atomic<int> results = 0;             // those of its first phase, in percent of all
  int found = 0;                            // as much of the other's results was there when it began its second phase
  double ended = 0, went_on = 0, done = 0;  // seconds since the start
};

/// Made in memory that the two processes share.
struct Board {
  Barrier barrier{2};
  cookbook::Stopwatch watch;
  Notes notes[2];
};

/// What each of the two processes does. Returns its exit code: 1 if the other one has not come in time.
int work_in_phases(Board& board, int self, std::chrono::milliseconds unit, bool with_barrier) {
  Notes &mine = board.notes[self], &others = board.notes[1 - self];
  for (int i = 1; i <= units[self][0]; ++i) {
    std::this_thread::sleep_for(unit);  // stands for work
    mine.results = 100 * i / units[self][0];
  }
  mine.ended = board.watch.seconds();
  if (with_barrier && !board.barrier.wait_for(timeout)) return 1;  // the other one has not come in time
  mine.went_on = board.watch.seconds();
  mine.found = others.results;  // the second phase begins with the results of the other one
  std::this_thread::sleep_for(units[self][1] * unit);
  mine.done = board.watch.seconds();
  return 0;
}

bool both_found_all(const Board& board) { return board.notes[0].found == 100 && board.notes[1].found == 100; }

/// Starts two processes, waits for both, and prints a line for each. Returns whether both found all results.
bool show(const char* title, std::chrono::milliseconds unit, bool with_barrier) {
  const Shared<Board> board;
  const auto start = [&](int self) {
    return cookbook::start_child(
        [&board, self, unit, with_barrier] { return work_in_phases(*board, self, unit, with_barrier); });
  };
  const pid_t a = start(0), b = start(1);
  const bool a_ended_well = cookbook::exit_code_of(a) == 0, b_ended_well = cookbook::exit_code_of(b) == 0;
  for (const int self : {0, 1}) {
    const Notes& notes = board->notes[self];
    cookbook::println("{:<18}{}{:12.1f} ms{:8.1f} ms{:21} %{:13.1f} ms", title, "AB"[self], 1000 * notes.ended,
                      1000 * notes.went_on, notes.found, 1000 * notes.done);
  }
  return a_ended_well && b_ended_well && both_found_all(*board);
}

}  // namespace

int main(int argc, char** argv) {
  int unit_ms = 10;
  cookbook::Options options("Let processes wait for each other at a barrier");
  options.add("unit-ms", unit_ms, "how long a process works in its short phase, in ms; four times as long in the other",
              0, 1'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds unit(unit_ms);

  cookbook::println("{:>34}{:>11}{:>23}{:>16}", "phase 1 ended", "goes on", "finds of the other's", "phase 2 ended");
  const bool found_all = show("with a barrier", unit, true);
  show("without a barrier", unit, false);

  cookbook::Checks checks;
  checks.that("with the barrier, each found all results of the other", found_all);
  return checks.exit_code();
}

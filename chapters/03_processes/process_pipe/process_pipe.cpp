// Processes in a chain
//
// One child sends numbers into a pipe, a second child reads them and sends their squares into another pipe, and this
// process reads the squares. Each reader stops at end-of-file. When does it come? The chain runs three times: all goes
// well, the parent forgets to close an end, and the second child is killed.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/process_pipe/process_pipe.cpp common/cookbook/*.cpp -lfmt -o process_pipe
// Run:     process_pipe [--items N]

#include <fmt/ranges.h>
#include <poll.h>

#include <chrono>
#include <csignal>
#include <limits>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "squares.hpp"

namespace {

/// Waits until there is something to read, a number or the end-of-file; false if nothing comes within `limit`.
bool comes_within(const Pipe& pipe, std::chrono::milliseconds limit) {
  pollfd ready = {pipe.reading, POLLIN, 0};
  return check(poll(&ready, 1, static_cast<int>(limit.count())), "poll") > 0;
}

struct Run {
  std::vector<long> squares;  // the first hundred
  long read = 0, wrong = 0;
  bool end_of_file = false;
  double ms = 0;   // until end-of-file, or until the parent gives up
  int sender = 0;  // its exit code
};

/// Reads the squares up to end-of-file, or until none has come for `limit`. `squarer_dies`: the squarer is killed when
/// the first square has come.
Run read_squares(const Squares& chain, std::chrono::milliseconds limit, bool squarer_dies = false) {
  Run run;
  const cookbook::Stopwatch watch;
  for (long square = 0; comes_within(chain.results, limit); ++run.read) {
    run.end_of_file = !read_number(chain.results, square);
    if (run.end_of_file) break;
    if (run.read < 100) run.squares.push_back(square);
    run.wrong += square != run.read * run.read;
    if (run.read == 0 && squarer_dies) check(kill(chain.squarer, SIGKILL), "kill");
  }
  run.ms = watch.seconds() * 1e3;
  close(chain.results.reading);
  if (!run.end_of_file) check(kill(chain.squarer, SIGKILL), "kill");  // it would wait for ever
  run.sender = cookbook::exit_code_of(chain.sender);
  cookbook::exit_code_of(chain.squarer);
  return run;
}

void print_row(const char* what, const Run& run) {
  cookbook::println("{:<34}{:>7}   {:<10}{:8.1f} ms", what, run.read, run.end_of_file ? "after" : "not within", run.ms);
}

}  // namespace

int main(int argc, char** argv) {
  long items = 10;
  cookbook::Options options("Chain processes with pipes, ended by end-of-file");
  options.add("items", items, "numbers to square", 0, 100'000);
  options.parse(argc, argv);
  constexpr std::chrono::seconds long_enough(30);

  const Run good = read_squares(start_squares(items), long_enough);
  cookbook::println("the squares: {}", fmt::join(good.squares, " "));
  cookbook::println("the parent closes                 squares   end-of-file");
  print_row("every end that it does not use", good);
  const Run open = read_squares(start_squares(items, true), std::chrono::milliseconds(200));
  print_row("all of these but numbers.writing", open);
  const Run killed = read_squares(start_squares(std::numeric_limits<int>::max()), long_enough, true);
  cookbook::println("the squarer is killed: {} for the parent, signal {} for the sender",
                    killed.end_of_file ? "end-of-file" : "nothing", -killed.sender);

  cookbook::Checks checks;
  checks.equal("squares in the two rows", std::vector{good.read, open.read}, {items, items});
  checks.equal("numbers that are not the expected square", std::vector{good.wrong, open.wrong, killed.wrong},
               {0, 0, 0});
  checks.equal("end-of-file in the three runs",
               fmt::format("{}, {}, {}", good.end_of_file, open.end_of_file, killed.end_of_file), "true, false, true");
  return checks.exit_code();
}

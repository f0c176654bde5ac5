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

#include <algorithm>
#include <chrono>
#include <csignal>
#include <span>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "squares.hpp"

namespace {

constexpr long very_many = 2'000'000'000;

/// What the parent has got from a chain.
struct Run {
  std::vector<long> squares;
  bool end_of_file = false;
  double ms = 0;   // until end-of-file, or until the parent gives up
  int sender = 0;  // its exit code, or -N if signal N ended it
};

/// Joins both children. Returns the sender's exit code.
int join(const Squares& chain) {
  close(chain.results.reading);
  cookbook::exit_code_of(chain.squarer);
  return cookbook::exit_code_of(chain.sender);
}

/// All goes well.
Run closes_its_ends(long items) {
  Run run;
  const cookbook::Stopwatch watch;
  const Squares chain = start_squares(items);
  for (long square = 0; read_number(chain.results, square);) run.squares.push_back(square);
  run.end_of_file = true;
  run.ms = watch.seconds() * 1e3;
  run.sender = join(chain);
  return run;
}

/// The parent keeps a writing end, and gives up when nothing has come for 200 ms.
Run forgets_an_end(long items) {
  Run run;
  const cookbook::Stopwatch watch;
  const Squares chain = start_squares(items, true);
  constexpr std::chrono::milliseconds limit(200);
  pollfd ready = {chain.results.reading, POLLIN, 0};
  while (!run.end_of_file && check(poll(&ready, 1, static_cast<int>(limit.count())), "poll") > 0) {
    long square = 0;
    run.end_of_file = !read_number(chain.results, square);
    if (!run.end_of_file) run.squares.push_back(square);
  }
  run.ms = watch.seconds() * 1e3;
  check(kill(chain.squarer, SIGKILL), "kill");  // it would wait for ever
  run.sender = join(chain);
  return run;
}

/// The squarer is killed when the first square has come.
Run squarer_dies() {
  Run run;
  const cookbook::Stopwatch watch;
  const Squares chain = start_squares(very_many);
  for (long square = 0; read_number(chain.results, square);) {
    if (run.squares.empty()) check(kill(chain.squarer, SIGKILL), "kill");
    run.squares.push_back(square);
  }
  run.end_of_file = true;
  run.ms = watch.seconds() * 1e3;
  run.sender = join(chain);
  return run;
}

void print_row(const char* what, const Run& run) {
  const std::string end = run.sender == 0          ? "ends by itself"
                          : run.sender == -SIGPIPE ? "is ended by SIGPIPE"
                                                   : fmt::format("ends with {}", run.sender);
  cookbook::println("{:<38}{:>7}   {:<11}{:>7.1f} ms   {}", what, run.squares.size(),
                    run.end_of_file ? "after" : "none within", run.ms, end);
}

long wrong_in(const Run& run) {
  long wrong = 0, number = 0;
  for (const long square : run.squares) wrong += square != number * number, ++number;
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  long items = 10;
  cookbook::Options options("Chain processes with pipes, ended by end-of-file");
  options.add("items", items, "numbers to square", 0, 100'000);
  options.parse(argc, argv);

  const Run good = closes_its_ends(items);
  const std::span<const long> first(good.squares.data(), std::min<std::size_t>(good.squares.size(), 100));
  cookbook::println("the squares: {}", fmt::join(first, " "));
  cookbook::println("{:<38}squares   end-of-file             the sender", "");
  print_row("the parent closes all its unused ends", good);
  const Run open = forgets_an_end(items);
  print_row("the parent forgets numbers.writing", open);
  const Run killed = squarer_dies();
  print_row("the squarer is killed", killed);

  cookbook::Checks checks;
  checks.equal("squares in the first two rows", std::vector<std::size_t>{good.squares.size(), open.squares.size()},
               std::vector(2, static_cast<std::size_t>(items)));
  checks.equal("wrong squares", wrong_in(good) + wrong_in(open) + wrong_in(killed), 0L);
  checks.that("no end-of-file in the second row", !open.end_of_file);
  checks.that("SIGPIPE in the third row alone", good.sender == 0 && open.sender == 0 && killed.sender == -SIGPIPE);
  return checks.exit_code();
}

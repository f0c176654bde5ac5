// Two processes and two pipes
//
// One child sends the numbers from 0 to 9 into a pipe, a second child reads them and sends their squares into another
// pipe, and this process reads the squares. Nobody says how many numbers there are: each reader stops at end-of-file,
// which comes when all writing ends of its pipe have been closed.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/process_pipe/process_pipe.cpp common/cookbook/*.cpp -lfmt -o process_pipe
// Run:     process_pipe [--items N]

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "squares.hpp"

int main(int argc, char** argv) {
  long items = 10;
  cookbook::Options options("Chain two processes with pipes, ended by end-of-file");
  options.add("items", items, "numbers to square", 0, 100'000);
  options.parse(argc, argv);

  const Squares squares = start_squares(items);
  long received = 0, wrong = 0, square = 0;
  while (read_number(squares.results, square)) {
    cookbook::println("{}", square);
    wrong += square != received * received;
    ++received;
  }
  cookbook::println("End");
  close(squares.results.reading);

  cookbook::Checks checks;
  checks.equal("numbers received", received, items);
  checks.equal("numbers that are not the expected square", wrong, 0);
  checks.equal("exit code of the sender", cookbook::exit_code_of(squares.sender), 0);
  checks.equal("exit code of the squarer", cookbook::exit_code_of(squares.squarer), 0);
  return checks.exit_code();
}

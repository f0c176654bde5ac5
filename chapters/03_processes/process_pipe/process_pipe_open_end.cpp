// Two chained pipes, an end left open
//
// The chain of process_pipe.cpp, but the parent forgets to close one writing end that it only handed on. All squares
// come, and then nothing: a reader waits for end-of-file, and the end that is still open is held by a process that will
// never write to it. Which one: --keep numbers (the squarer waits) or --keep squares (the parent waits for itself).
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_pipe/process_pipe_open_end.cpp common/cookbook/*.cpp -lfmt -o process_pipe_open_end
// Run:     process_pipe_open_end [--keep numbers|squares]
// Symptom: hangs

#include <unistd.h>

#include <string>

#include "child.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "number_pipe.hpp"

int main(int argc, char** argv) {
  std::string keep = "numbers";
  cookbook::Options options("Leave the writing end of a pipe open, and wait for ever");
  options.add_choice("keep", keep, "pipe whose writing end the parent keeps", {"numbers", "squares"});
  options.parse(argc, argv);

  const Pipe numbers = make_pipe();
  const pid_t sender = check(fork(), "fork");
  if (sender == 0) {
    for (long i = 0; i < 10; ++i) write_number(numbers.writing, i);
    _exit(0);
  }

  const Pipe squares = make_pipe();
  const pid_t squarer = check(fork(), "fork");
  if (squarer == 0) {
    close(numbers.writing);
    long number = 0;
    while (read_number(numbers.reading, number)) write_number(squares.writing, number * number);
    _exit(0);
  }

  // The mistake: one of the two stays open.
  if (keep != "numbers") close(numbers.writing);
  if (keep != "squares") close(squares.writing);

  long square = 0;
  while (read_number(squares.reading, square)) cookbook::println("{}", square);
  cookbook::println("End, which is never reached");
  exit_code_of(sender);
  exit_code_of(squarer);
}

// Pitfall: a writing end is left open
//
// The parent hands the pipe on to a child that sends three numbers, but it forgets to close its own copy of the writing
// end. All numbers come. Then the parent waits for a next number, or for end-of-file, and neither ever comes: one
// writing end is still open, that of the parent itself.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/03_processes/process_pipe/process_pipe_open_end.cpp common/cookbook/*.cpp -lfmt -o process_pipe_open_end
// Run:     process_pipe_open_end, then Ctrl-C
// Symptom: hangs

#include "cookbook/print.hpp"
#include "squares.hpp"

int main() {
  const Pipe numbers = make_pipe();
  const pid_t sender = cookbook::start_child([&] {
    close(numbers.reading);
    for (long number = 0; number < 3; ++number) write_number(numbers, number);
  });
  // Missing: close(numbers.writing);

  long number = 0;
  while (read_number(numbers, number)) cookbook::println("{}", number);
  cookbook::println("End");
  return cookbook::exit_code_of(sender);
}

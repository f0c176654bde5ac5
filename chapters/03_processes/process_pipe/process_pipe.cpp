// Two chained pipes
//
// A sender process writes 0, 1, 2, ... into a pipe; a squarer process reads them and writes their squares into a second
// pipe; the parent reads those. Nobody says how many there are: each reader stops at end-of-file, and end-of-file comes
// only when every copy of the writing end is closed, in every process. So each process closes what it does not use.
// The pitfall, process_pipe_open_end.cpp, leaves one end open and waits for ever.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/process_pipe/process_pipe.cpp common/cookbook/*.cpp -lfmt -o process_pipe
// Run:     process_pipe [--items N] [--mebibytes N]

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "child.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"
#include "number_pipe.hpp"

namespace {

std::vector<long> squares_in_one_process(long items) {
  std::vector<long> squares;
  for (long i = 0; i < items; ++i) squares.push_back(i * i);
  return squares;
}

/// The same by two child processes. Their exit codes go to `codes`: sender, squarer.
std::vector<long> squares_through_pipes(long items, std::vector<int>& codes) {
  const Pipe numbers = make_pipe();
  const pid_t sender = check(fork(), "fork");
  if (sender == 0) {
    close(numbers.reading);
    for (long i = 0; i < items; ++i) write_number(numbers.writing, i);
    _exit(0);  // closes its end, too
  }

  // Made after the first fork, so the sender has no copy of it.
  const Pipe squares = make_pipe();
  const pid_t squarer = check(fork(), "fork");
  if (squarer == 0) {
    close(numbers.writing);
    close(squares.reading);
    long number = 0;
    while (read_number(numbers.reading, number)) write_number(squares.writing, number * number);
    _exit(0);
  }

  // Both ends that the parent only handed on. Without these two lines nobody ever sees end-of-file.
  close(numbers.writing);
  close(squares.writing);
  close(numbers.reading);

  std::vector<long> received;
  long square = 0;
  while (read_number(squares.reading, square)) received.push_back(square);
  close(squares.reading);
  codes = {exit_code_of(sender), exit_code_of(squarer)};
  return received;
}

/// Streams `total` bytes from a child to this process in blocks of `block` bytes.
void stream(std::size_t total, std::size_t block) {
  const Pipe pipe = make_pipe();
  const pid_t writer = check(fork(), "fork");
  std::vector<char> buffer(block, 'x');
  if (writer == 0) {
    close(pipe.reading);
    for (std::size_t sent = 0; sent < total;) {
      sent += static_cast<std::size_t>(check(write(pipe.writing, buffer.data(), block), "write"));
    }
    _exit(0);
  }
  close(pipe.writing);
  while (check(read(pipe.reading, buffer.data(), block), "read") > 0) {
  }
  close(pipe.reading);
  exit_code_of(writer);
}

/// Sends `rounds` numbers there and back between this process and a child, one at a time.
void ping_pong(int rounds) {
  const Pipe there = make_pipe(), back = make_pipe();
  const pid_t echo = check(fork(), "fork");
  long number = 0;
  if (echo == 0) {
    close(there.writing);
    while (read_number(there.reading, number)) write_number(back.writing, number);
    _exit(0);
  }
  close(there.reading);
  close(back.writing);
  for (int i = 0; i < rounds; ++i) {
    write_number(there.writing, i);
    read_number(back.reading, number);
  }
  close(there.writing);
  close(back.reading);
  exit_code_of(echo);
}

}  // namespace

int main(int argc, char** argv) {
  long items = 10;
  std::size_t mebibytes = 64;
  cookbook::Options options("Chain two processes with pipes, ended by end-of-file");
  options.add("items", items, "numbers to square", 0, 1'000'000);
  options.add("mebibytes", mebibytes, "amount to stream when measuring", 1, 4096);
  options.parse(argc, argv);

  std::vector<int> codes;
  const std::vector<long> squares = squares_through_pipes(items, codes);
  if (items <= 10) {
    for (const long square : squares) cookbook::println("{}", square);
  }
  cookbook::println("End");

  cookbook::Checks checks;
  checks.equal("numbers received", static_cast<long>(squares.size()), items);
  checks.that("the same squares as in one process, in order", squares == squares_in_one_process(items));
  checks.equal("exit codes of sender and squarer", codes, {0, 0});

  const std::size_t total = mebibytes << 20;
  const double bytes = static_cast<double>(total);
  std::vector<char> from(total, 'x'), to(total, 'y');
  cookbook::Figures rates("stream from process to process", cookbook::rate("GB/s", 1e9));
  std::vector<cookbook::Row> rows = {
      {"memcpy in one process", bytes, [&] { std::memcpy(to.data(), from.data(), total); }}};
  for (const std::size_t block : {std::size_t{1} << 12, std::size_t{1} << 16, std::size_t{1} << 20}) {
    rows.emplace_back(fmt::format("pipe, blocks of {} KiB", block >> 10), bytes, [=] { stream(total, block); });
  }
  rates.measure(rows, 5);
  rates.percent_of("memcpy in one process", "memcpy");
  checks.that("memcpy copied", from == to);
  rates.print(checks);

  constexpr int rounds = 2000;
  cookbook::Figures trips("one number there and back", cookbook::cost("us", 1e-6));
  trips.measure({{"two pipes", rounds, [] { ping_pong(rounds); }}}, 5);
  trips.print(checks);
  return checks.exit_code();
}

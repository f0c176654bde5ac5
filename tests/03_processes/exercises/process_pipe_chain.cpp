// Tests a chain of two children and two pipes that a learner has written.

#include "squares.hpp"

#include <poll.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>

using namespace std::chrono_literals;
using judge::expect;

namespace {

constexpr long many = std::numeric_limits<int>::max();

long open_ends() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

/// Whether something can be read, or end-of-file, within so long.
bool comes(const Squares& chain, std::chrono::milliseconds limit = 2s) {
  pollfd news = {chain.results.reading, POLLIN, 0};
  return poll(&news, 1, static_cast<int>(limit.count())) > 0;
}

/// The exit code of a child that has to end by itself.
int code_of(pid_t child, const std::string& why) {
  const auto code = cookbook::exit_code_of(child, 2s);
  expect(code.has_value(), why);
  return *code;
}

Squares start(long items, bool keep_a_writing_end = false) {
  const long before = open_ends();
  const Squares chain = start_squares(items, keep_a_writing_end);
  expect(chain.sender > 0 && chain.squarer > 0 && chain.sender != chain.squarer, "There are not two children.");
  const long more = open_ends() - before;
  expect(more >= (keep_a_writing_end ? 2 : 1), "The parent has closed an end that it needs.");
  expect(more <= (keep_a_writing_end ? 2 : 1), "The parent keeps ends that it does not use.");
  return chain;
}

void expect_squares(const Squares& chain, long items) {
  for (long i = 0, square = -1; i < items; ++i) {
    expect(comes(chain), "No further square comes, and no end-of-file.");
    expect(read_number(chain.results, square) && square == i * i, "These are not the squares of 0, 1, 2 and so on.");
  }
}

void all_goes_well(long items) {
  const Squares chain = start(items);
  expect_squares(chain, items);
  expect(comes(chain), "After the last square no end-of-file comes: somebody has still a writing end.");
  long square = 0;
  expect(!read_number(chain.results, square), "More squares come than numbers were to be sent.");
  expect(code_of(chain.sender, "The sender does not end.") == 0, "The sender fails.");
  expect(code_of(chain.squarer, "The squarer does not end.") == 0, "The squarer fails.");
  close(chain.results.reading);
}

void the_squarer_dies() {
  const Squares chain = start(many);
  expect_squares(chain, 3);
  kill(chain.squarer, SIGKILL);
  code_of(chain.squarer, "The squarer cannot be killed.");
  expect(
      code_of(chain.sender, "The squarer is dead, and the sender is not told: somebody has still a reading end.") != 0,
      "The sender ends as if it had sent all numbers, although the squarer is dead.");
  close(chain.results.reading);
}

/// The end of the squares does not depend on the sender.
void the_squarer_dies_while_the_sender_is_stopped() {
  const Squares chain = start(many);
  expect_squares(chain, 3);
  kill(chain.sender, SIGSTOP);
  kill(chain.squarer, SIGKILL);
  code_of(chain.squarer, "The squarer cannot be killed.");
  for (long square = 0, more = true; more; more = read_number(chain.results, square)) {
    expect(comes(chain), "The squarer is dead, and no end-of-file comes: the sender has a writing end of its pipe.");
  }
  kill(chain.sender, SIGKILL);
  code_of(chain.sender, "The sender cannot be killed.");
  close(chain.results.reading);
}

void nobody_reads_the_squares() {
  const Squares chain = start(many);
  expect_squares(chain, 3);
  close(chain.results.reading);
  code_of(chain.squarer, "Nobody reads the squares, and the squarer is not told: somebody has still a reading end.");
  code_of(chain.sender, "The squarer has ended, and the sender is not told: somebody has still a reading end.");
}

/// While one of the children is stopped no more squares come than the pipes hold.
void each_does_its_part(bool stop_the_sender) {
  const Squares chain = start(many);
  expect_squares(chain, 1);
  kill(stop_the_sender ? chain.sender : chain.squarer, SIGSTOP);
  int read = 0;
  for (long square = 0; comes(chain, 200ms) && read < 100'000; ++read) read_number(chain.results, square);
  expect(read < 100'000, std::string("The squares go on coming while the ") + (stop_the_sender ? "sender" : "squarer") +
                             " is stopped.");
  kill(chain.sender, SIGKILL);  // now the squarer reads what is left, and end-of-file
  kill(chain.squarer, SIGCONT);
  for (long square = 0; comes(chain) && read_number(chain.results, square);) continue;
  expect(code_of(chain.squarer, "The sender is dead, and the squarer does not end.") == 0, "The squarer fails.");
  code_of(chain.sender, "The sender cannot be killed.");
  close(chain.results.reading);
}

void a_writing_end_is_kept() {
  const Squares chain = start(3, true);
  expect_squares(chain, 3);
  expect(!comes(chain, 50ms), "An end-of-file comes, although this process keeps a writing end.");
  kill(chain.squarer, SIGKILL);
  expect(code_of(chain.squarer, "The squarer cannot be killed.") == -SIGKILL,
         "The squarer has ended, although this process is to keep a writing end of the first pipe.");
  code_of(chain.sender, "The sender does not end.");
  close(chain.results.reading);
}

}  // namespace

int main() {
  all_goes_well(5);
  all_goes_well(0);
  all_goes_well(50'000);  // more than a pipe holds, and squares beyond the greatest int
  the_squarer_dies();
  the_squarer_dies_while_the_sender_is_stopped();
  nobody_reads_the_squares();
  each_does_its_part(true);
  each_does_its_part(false);
  a_writing_end_is_kept();
  std::puts("the chain ends from each of its ends");
}

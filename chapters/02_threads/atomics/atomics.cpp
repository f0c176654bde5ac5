// Memory orders
//
// Three jobs for two threads, each with three memory orders, and how often the job goes wrong. They count together:
// relaxed is enough. One thread writes plain messages that the other reads: release and acquire are enough, and with
// relaxed it would be a data race. Each stores to its own variable and then loads the other's: with every order but
// seq_cst, both may get the old value.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/atomics/atomics.cpp common/cookbook/*.cpp -lfmt -pthread -o atomics
// Run:     atomics [--rounds N]

#include <atomic>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "run_concurrently.hpp"

namespace {

using enum std::memory_order;  // relaxed, acquire, release, acq_rel, seq_cst

/// Two threads add 1 to one counter, `rounds` times each.
template <std::memory_order order>
int count_together(int rounds) {
  std::atomic<int> counter = 0;
  run_concurrently(2, [&](int) {
    for (int i = 0; i < rounds; ++i) counter.fetch_add(1, order);
  });
  return counter;  // the threads have ended, so this sees all their additions
}

struct Message {
  long number, square, cube;
  bool operator==(const Message&) const = default;
};

Message message_of(long number) { return {number, number * number, number * number * number}; }

/// One thread writes `count` messages, another reads each of them as soon as it is there. Returns what it has read.
template <std::memory_order store_order, std::memory_order load_order>
std::vector<Message> pass_messages(int count) {
  std::vector<Message> messages(count);  // not atomic, and no lock guards them
  std::atomic<int> written = 0;          // how many of them have been written
  std::vector<Message> received;
  const auto send = [&] {
    for (int i = 0; i < count; ++i) {
      messages[i] = message_of(i);
      written.store(i + 1, store_order);
    }
  };
  const auto receive = [&] {
    for (int i = 0; i < count; ++i) {
      spin_until([&] { return written.load(load_order) > i; });
      received.push_back(messages[i]);
    }
  };
  run_concurrently(2, [&](int thread) { thread == 0 ? send() : receive(); });
  return received;
}

/// In each round, two threads store to a variable of their own, then load the other's. Returns the number of rounds in
/// which both loads gave the old value.
template <std::memory_order store_order, std::memory_order load_order>
int both_got_the_old_value(int rounds) {
  struct Side {
    alignas(64) std::atomic<int> ready = 0;
    alignas(64) std::atomic<int> value = 0;  // the round's number, in a cache line of its own
    alignas(64) std::vector<bool> got_old;   // so that noting the result does not touch that line
  } left, right;
  const auto play = [rounds](Side& mine, Side& other) {
    for (int round = 1; round <= rounds; ++round) {
      mine.ready.store(round, release);
      spin_until([&] { return other.ready.load(acquire) >= round; });  // begin the round together
      // The operations on `ready` do not order these two, only their own memory orders can.
      mine.value.store(round, store_order);
      mine.got_old.push_back(other.value.load(load_order) < round);
    }
  };
  run_concurrently(2, [&](int thread) { thread == 0 ? play(left, right) : play(right, left); });
  int both = 0;
  for (int i = 0; i < rounds; ++i) both += left.got_old[i] && right.got_old[i];
  return both;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 20'000;
  cookbook::Options options("Choose the memory order of each atomic operation");
  options.add("rounds", rounds, "additions, messages and rounds", 1, 1'000'000);
  options.parse(argc, argv);

  std::vector<Message> sent;
  for (int i = 0; i < rounds; ++i) sent.push_back(message_of(i));
  const auto incomplete = [&](const std::vector<Message>& received) {
    int wrong = 0;
    for (int i = 0; i < rounds; ++i) wrong += received[i] != sent[i];
    return wrong;
  };
  const int additions = 2 * rounds;
  const int lost_relaxed = additions - count_together<relaxed>(rounds);
  const int lost_acq_rel = additions - count_together<acq_rel>(rounds);
  const int lost_seq_cst = additions - count_together<seq_cst>(rounds);
  const int incomplete_acquired = incomplete(pass_messages<release, acquire>(rounds));
  const int incomplete_seq_cst = incomplete(pass_messages<seq_cst, seq_cst>(rounds));
  const int both_relaxed = both_got_the_old_value<relaxed, relaxed>(rounds);
  const int both_acquired = both_got_the_old_value<release, acquire>(rounds);
  const int both_seq_cst = both_got_the_old_value<seq_cst, seq_cst>(rounds);

  const auto percent = [](int part, int whole) { return fmt::format("{:.2f} %", 100.0 * part / whole); };
  const auto row = [](const char* job, const std::string& a, const std::string& b, const std::string& c) {
    cookbook::println("{:<42}{:>11}{:>18}{:>11}", job, a, b, c);
  };
  row("what goes wrong, and how often", "relaxed", "release, acquire", "seq_cst");
  row("add: an addition is lost", percent(lost_relaxed, additions), percent(lost_acq_rel, additions),
      percent(lost_seq_cst, additions));
  row("send a message: it arrives incomplete", "data race", percent(incomplete_acquired, rounds),
      percent(incomplete_seq_cst, rounds));
  row("store mine, load the other's: both get old", percent(both_relaxed, rounds), percent(both_acquired, rounds),
      percent(both_seq_cst, rounds));

  cookbook::Checks checks;
  checks.equal("relaxed: additions that were lost", lost_relaxed, 0);
  checks.equal("release and acquire: messages that arrived incomplete", incomplete_acquired, 0);
  checks.equal("seq_cst: rounds in which both threads got the old value", both_seq_cst, 0);
  return checks.exit_code();
}

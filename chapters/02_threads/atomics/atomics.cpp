// Memory orders
//
// Three jobs for two threads, and the memory order that each job needs. They count together: relaxed is enough, but the
// addition must be one step; the program shows how many additions are lost if it is two. One thread writes plain
// messages that the other reads: release and acquire. Each stores to its own variable and then loads the other's: the
// program shows in how many rounds both get the old value, which sequential consistency alone rules out.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/atomics/atomics.cpp common/cookbook/*.cpp -lfmt -pthread -o atomics
// Run:     atomics [--rounds N]

#include <atomic>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "run_concurrently.hpp"

namespace {

using enum std::memory_order;  // relaxed, acquire, release, acq_rel, seq_cst

/// Two threads add 1 to one counter, `rounds` times each.
int count_together(int rounds) {
  std::atomic<int> counter = 0;
  run_concurrently(2, [&](int) {
    for (int i = 0; i < rounds; ++i) counter.fetch_add(1, relaxed);  // no other data depends on the counter
  });
  return counter;  // the threads have ended, so this sees all their additions
}

/// The same in two steps. Between them the other thread may add, and then its addition is overwritten, at every order.
int count_in_two_steps(int rounds) {
  std::atomic<int> counter = 0;
  run_concurrently(2, [&](int) {
    for (int i = 0; i < rounds; ++i) counter.store(counter.load(seq_cst) + 1, seq_cst);
  });
  return counter;
}

struct Message {
  long number, square, cube;
  bool operator==(const Message&) const = default;
};

Message message_of(long number) { return {number, number * number, number * number * number}; }

/// One thread writes `count` messages, another reads each of them as soon as it is there. Returns what it has read.
std::vector<Message> pass_messages(int count) {
  std::vector<Message> messages(count);  // not atomic, and no lock guards them
  std::atomic<int> written = 0;          // how many of them have been written
  std::vector<Message> received;
  const auto send = [&] {
    for (int i = 0; i < count; ++i) {
      messages[i] = message_of(i);
      written.store(i + 1, release);
    }
  };
  const auto receive = [&] {
    for (int i = 0; i < count; ++i) {
      spin_until([&] { return written.load(acquire) > i; });
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

  const auto percent = [](int part, int whole) { return 100.0 * part / whole; };
  const int additions = 2 * rounds, counted = count_together(rounds);
  const int lost_in_two_steps = additions - count_in_two_steps(rounds);
  cookbook::println("two threads count: additions that are lost");
  cookbook::println("    two steps, both seq_cst        {:7.2f} %", percent(lost_in_two_steps, additions));
  cookbook::println("    one step (fetch_add), relaxed  {:7.2f} %", percent(additions - counted, additions));

  const int both_relaxed = both_got_the_old_value<relaxed, relaxed>(rounds);
  const int both_acquired = both_got_the_old_value<release, acquire>(rounds);
  const int both_seq_cst = both_got_the_old_value<seq_cst, seq_cst>(rounds);
  cookbook::println("store mine, then load the other's: rounds in which both threads get the old value");
  cookbook::println("    relaxed                        {:7.2f} %", percent(both_relaxed, rounds));
  cookbook::println("    release and acquire            {:7.2f} %", percent(both_acquired, rounds));
  cookbook::println("    seq_cst                        {:7.2f} %", percent(both_seq_cst, rounds));

  std::vector<Message> sent;
  for (int i = 0; i < rounds; ++i) sent.push_back(message_of(i));

  cookbook::Checks checks;
  checks.equal("relaxed: additions that were counted", counted, additions);
  checks.that("release and acquire: every message arrived as it was sent", pass_messages(rounds) == sent);
  checks.equal("sequential consistency: rounds in which both threads got the old value", both_seq_cst, 0);
  return checks.exit_code();
}

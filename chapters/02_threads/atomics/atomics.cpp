// Memory orders
//
// Three jobs for two threads: to add to one counter, to pass messages of plain data, and to raise a flag each and look
// at the other's. The program shows what goes wrong with too weak an operation or order, and which one is enough.
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

/// In each round, two threads store to a variable of their own, then load the other's. Returns the number of rounds in
/// which both loads gave the old value.
template <std::memory_order store_order, std::memory_order load_order>
int both_got_the_old_value(int rounds) {
  struct Side {  // `ready` and the cache lines only make both threads load at the same time more often
    alignas(64) std::atomic<int> ready = 0;
    alignas(64) std::atomic<int> value = 0;  // the flag: the round's number, so it need not be lowered
    alignas(64) std::vector<bool> got_old;
  } left, right;
  const auto play = [rounds](Side& mine, Side& other) {
    for (int round = 1; round <= rounds; ++round) {
      mine.ready.store(round, release);
      spin_until([&] { return other.ready.load(acquire) >= round; });  // begin the round together
      // The operations on `ready` do not order these two, only their own memory orders can.
      mine.value.store(round, store_order);
      const int seen = other.value.load(load_order);
      mine.got_old.push_back(seen < round);
    }
  };
  run_concurrently(2, [&](int thread) { thread == 0 ? play(left, right) : play(right, left); });
  int both = 0;
  for (int i = 0; i < rounds; ++i) both += left.got_old[i] && right.got_old[i];
  return both;
}

/// Two threads add 1 to one counter, `rounds` times each. Returns how many additions were lost.
template <typename Add>
int lost_additions(int rounds, Add add) {
  std::atomic<int> counter = 0;
  run_concurrently(2, [&](int) {
    for (int i = 0; i < rounds; ++i) add(counter);
  });
  return 2 * rounds - counter;  // the threads have ended, so this sees all their additions
}

void add_in_two_steps(std::atomic<int>& counter) { counter.store(counter.load(relaxed) + 1, relaxed); }

void add_in_one(std::atomic<int>& counter) { counter.fetch_add(1, relaxed); }

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
      messages[i] = message_of(i + 1);
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

}  // namespace

int main(int argc, char** argv) {
  int rounds = 20'000;
  cookbook::Options options("Choose the memory order of each atomic operation");
  options.add("rounds", rounds, "additions, messages and rounds", 1, 1'000'000);
  options.parse(argc, argv);

  const int lost_in_two_steps = lost_additions(rounds, add_in_two_steps);
  const int lost_in_one = lost_additions(rounds, add_in_one);
  cookbook::println("one counter        additions that were lost");
  cookbook::println("load, then store   {} of {}", lost_in_two_steps, 2 * rounds);
  cookbook::println("fetch_add          {} of {}\n", lost_in_one, 2 * rounds);

  const int both_relaxed = both_got_the_old_value<relaxed, relaxed>(rounds);
  const int both_acquired = both_got_the_old_value<release, acquire>(rounds);
  const int both_seq_cst = both_got_the_old_value<seq_cst, seq_cst>(rounds);
  cookbook::println("two flags          both threads got the old value");
  cookbook::println("relaxed            in {} of {} rounds", both_relaxed, rounds);
  cookbook::println("release, acquire   in {} of {} rounds", both_acquired, rounds);
  cookbook::println("seq_cst            in {} of {} rounds", both_seq_cst, rounds);

  const std::vector<Message> received = pass_messages(rounds);
  int incomplete = 0;
  for (int i = 0; i < rounds; ++i) incomplete += received[i] != message_of(i + 1);

  cookbook::Checks checks;
  checks.equal("seq_cst: rounds in which both threads got the old value", both_seq_cst, 0);
  checks.equal("fetch_add, relaxed: additions that were lost", lost_in_one, 0);
  checks.equal("release and acquire: messages that arrived incomplete", incomplete, 0);
  return checks.exit_code();
}

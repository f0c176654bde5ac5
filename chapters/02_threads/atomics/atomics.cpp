// Atomics
//
// Six small programs on memory orders. A message is passed by a release and an acquire; a spin lock and a sequence lock
// are built from these; a stack without a lock falls into the ABA trap, step by step, and is cured by a counter beside
// its index; two threads that store and then load miss each other at every order but one; and a table shows what each
// order costs. Why an order was chosen stands at each operation, here and in the headers of this folder.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/atomics/atomics.cpp common/cookbook/*.cpp -lfmt -o atomics
// Run:     atomics [--rounds N] [--threads N] [--operations N]

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <numeric>
#include <semaphore>
#include <thread>
#include <vector>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"
#include "order_costs.hpp"
#include "run_together.hpp"
#include "sequence_lock.hpp"
#include "spin_lock.hpp"
#include "store_buffer.hpp"
#include "treiber_stack.hpp"

namespace {

using atomics::run_together;
using atomics::spin_until;

/// Passes numbered messages through one plain, unguarded variable; returns how many were not as they were sent.
long wrong_messages(long rounds) {
  std::array<long, 3> message{};
  const auto content = [](long number) { return std::array{number, -number, number * number}; };
  std::atomic<long> sent = 0, taken = 0;
  long wrong = 0;
  const auto send = [&] {
    for (long number = 1; number <= rounds; ++number) {
      // acquire: pairs with the release of `taken`, so the receiver has done reading before the next write begins.
      spin_until([&] { return taken.load(std::memory_order_acquire) == number - 1; });
      message = content(number);
      // release: the message is complete before its number is seen.
      sent.store(number, std::memory_order_release);
    }
  };
  const auto receive = [&] {
    for (long number = 1; number <= rounds; ++number) {
      // acquire: who sees the number sees the message that was written before it.
      spin_until([&] { return sent.load(std::memory_order_acquire) == number; });
      if (message != content(number)) ++wrong;
      // release: the reading is done before the sender may write again.
      taken.store(number, std::memory_order_release);
    }
  };
  run_together(2, [&](int thread) { thread == 0 ? send() : receive(); });
  return wrong;
}

/// Two threads add 1 to a plain counter, `rounds` times each, under a spin lock.
long count_under_spin_lock(long rounds) {
  long counter = 0;
  atomics::SpinLock guard;
  run_together(2, [&](int) {
    for (long i = 0; i < rounds; ++i) {
      std::scoped_lock hold(guard);
      ++counter;
    }
  });
  return counter;
}

/// What two readers found wrong in a value that a writer changed all the time.
struct Wrong {
  long half_written = 0;
  long backwards = 0;  ///< older than the reading before
};

/// Two threads read a triple `rounds` times each, while a third writes (1, 2, 3), then (2, 4, 6), then (3, 6, 9) ...
Wrong read_while_written(long rounds) {
  atomics::SequenceLock<3> triple;
  std::atomic<int> reading = 2;
  std::atomic<long> half_written = 0, backwards = 0;
  const auto read = [&] {
    long newest = 0;
    for (long i = 0; i < rounds; ++i) {
      const auto [one, two, three] = triple.read();
      // relaxed, here and below: counts, which guard no other data; the joins order the reading at the end.
      if (two != 2 * one || three != 3 * one) half_written.fetch_add(1, std::memory_order_relaxed);
      if (one < newest) backwards.fetch_add(1, std::memory_order_relaxed);
      newest = one;
    }
    reading.fetch_sub(1, std::memory_order_relaxed);
  };
  const auto write = [&] {
    for (long i = 1; reading.load(std::memory_order_relaxed) > 0; ++i) triple.write({i, 2 * i, 3 * i});
  };
  run_together(3, [&](int thread) { thread == 0 ? write() : read(); });
  return {half_written, backwards};
}

/// Where the forced interleaving of two threads leads.
struct Aftermath {
  int attempts;                       ///< compare-exchanges until A had node 0
  std::vector<atomics::Index> after;  ///< the stack, while A holds node 0 and B holds node 1
  std::vector<atomics::Index> later;  ///< the stack after B has put node 1 back
};

/// On a stack of 0, 1, 2, top first: A reads the head, 0, and the node below it, 1. Then B takes out 0 and 1 and puts 0
/// back. Only then does A exchange the head, if it is still 0, for 1; but below 0 there is now 2, and 1 is B's.
template <typename Head>
Aftermath force_aba() {
  atomics::TreiberStack<Head> stack(3);
  for (const atomics::Index node : {2, 1, 0}) stack.push(node);
  std::binary_semaphore a_has_read(0), b_has_changed(0);
  Aftermath aftermath{};
  std::jthread a([&] {
    stack.pop([&] {
      if (++aftermath.attempts > 1) return;
      a_has_read.release();
      b_has_changed.acquire();
    });
  });
  std::jthread b([&] {
    a_has_read.acquire();
    const auto zero = stack.pop();
    stack.pop();
    stack.push(zero.value());
    b_has_changed.release();
  });
  a.join();
  b.join();
  aftermath.after = stack.contents();
  stack.push(1);
  aftermath.later = stack.contents();
  return aftermath;
}

/// What a stack went through under many threads.
struct Churned {
  long times_out = 0;  ///< how often nodes were out, as counted in the nodes themselves
  long once = 0;       ///< nodes that came out exactly once when the stack was emptied at the end
};

/// Lets `threads` threads take two nodes out and put them back in the order that invites ABA, `rounds` times each. Who
/// has a node adds 1 to its plain counter, so two who have the same node at once lose additions (and are a data race).
Churned churn_counted_stack(int threads, long rounds) {
  std::vector<long> times_out(2 * static_cast<std::size_t>(threads));  // two nodes a thread: the stack is never empty
  atomics::TreiberStack<atomics::CountedHead> stack(times_out.size());
  for (atomics::Index node = 0; node < times_out.size(); ++node) stack.push(node);
  run_together(threads, [&](int) {
    for (long i = 0; i < rounds; ++i) {
      const atomics::Index first = stack.pop().value(), second = stack.pop().value();
      ++times_out[first];
      ++times_out[second];
      stack.push(first);
      stack.push(second);
    }
  });

  std::vector<long> out_at_end(times_out.size());
  for (std::size_t i = 0; i < 2 * times_out.size(); ++i) {
    if (const auto node = stack.pop()) ++out_at_end[*node];
  }
  return {std::accumulate(times_out.begin(), times_out.end(), 0L), std::ranges::count(out_at_end, 1L)};
}

}  // namespace

int main(int argc, char** argv) {
  long rounds = 50'000, operations = 500'000;
  int threads = 4;
  cookbook::Options options("Choose the memory order of each atomic operation");
  options.add("rounds", rounds, "rounds of each test", 1, 10'000'000);
  options.add("threads", threads, "threads that share the stack", 1, 64);
  options.add("operations", operations, "operations a run, when costs are measured", 1, 100'000'000);
  options.parse(argc, argv);

  cookbook::Verdict verdict;
  verdict.equal("messages that came torn or stale", wrong_messages(rounds), 0L);
  verdict.equal("counter under a spin lock, changes lost", 2 * rounds - count_under_spin_lock(rounds), 0L);

  const Wrong wrong = read_while_written(rounds);
  verdict.equal("sequence lock, values read half-written", wrong.half_written, 0L);
  verdict.equal("sequence lock, values older than the one before", wrong.backwards, 0L);

  const Aftermath bare = force_aba<atomics::BareHead>();
  verdict.equal("bare head, attempts of A to take node 0", bare.attempts, 1);
  verdict.equal("bare head, stack while A holds 0 and B holds 1", bare.after, {1, 2});
  verdict.equal("bare head, stack after B put 1 back", bare.later, {1, 1, 1, 1});
  const Aftermath counted = force_aba<atomics::CountedHead>();
  verdict.equal("counted head, attempts of A to take node 0", counted.attempts, 2);
  verdict.equal("counted head, stack while A holds 0 and B holds 1", counted.after, {2});
  verdict.equal("counted head, stack after B put 1 back", counted.later, {1, 2});

  const Churned churned = churn_counted_stack(threads, rounds);
  verdict.equal("counted head, additions lost by who had a node", 2 * threads * rounds - churned.times_out, 0L);
  verdict.equal("counted head, nodes that did not come out exactly once", 2 * threads - churned.once, 0L);

  using enum std::memory_order;
  const auto share = [&](long missed) { return 100.0 * static_cast<double>(missed) / static_cast<double>(rounds); };
  cookbook::println("store, then load: at relaxed, both threads missed the other's store in {:.2f} % of rounds",
                    share(atomics::both_missed<relaxed, relaxed>(rounds)));
  cookbook::println("store, then load: at release and acquire, in {:.2f} % of rounds",
                    share(atomics::both_missed<release, acquire>(rounds)));
  verdict.equal("store, then load: at seq_cst, rounds in which both missed",
                atomics::both_missed<seq_cst, seq_cst>(rounds), 0L);

  atomics::order_costs(operations).print(verdict);
  return verdict.exit_code();
}

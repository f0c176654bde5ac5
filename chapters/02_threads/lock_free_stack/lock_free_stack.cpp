// A stack without a lock
//
// Threads push to and pop from a stack by one atomic operation each, compare-exchange. The simple form is broken: a
// thread that is about to pop node 0 can miss that node 0 went away and came back (the ABA problem). The program makes
// this happen step by step, first with the simple form, then with a head that counts its changes, which notices it.
// In the end several threads use the second form at the same time.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/lock_free_stack/lock_free_stack.cpp common/cookbook/*.cpp -lfmt -pthread -o lock_free_stack
// Run:     lock_free_stack [--threads N] [--rounds N]

#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "treiber_stack.hpp"

namespace {

/// A slow thread is about to pop node 0. A quick one pops nodes 0 and 1 before that, and pushes node 0 again. Returns
/// what the stack contains when both are done: it should be node 2 alone, since nodes 0 and 1 are out.
template <Head kind>
std::vector<Node> let_a_quick_thread_come_between() {
  TreiberStack<kind> stack(3);
  for (const Node node : {2, 1, 0}) stack.push(node);  // from the top down: 0, 1, 2
  bool first_attempt = true;
  stack.pop([&] {  // the slow thread has read that 0 is on top, and 1 below it
    if (!first_attempt) return;
    first_attempt = false;
    std::jthread quick([&] {  // runs to its end before the slow one goes on
      const Node zero = stack.pop().value();
      stack.pop();       // node 1
      stack.push(zero);  // node 0 is on top again, but 2 is below it
    });
  });  // the slow thread exchanges the head if it is still the same, or else tries again
  return stack.contents();
}

/// Each thread takes two nodes out, adds 1 to the counters in them and puts them back, `rounds` times. Returns the sum
/// of all counters: if two threads ever had the same node at the same time, additions would get lost.
long use_together(int threads, long rounds) {
  std::vector<long> counters(2 * static_cast<std::size_t>(threads));
  TreiberStack<Head::counted> stack(counters.size());
  for (Node node = 0; node < counters.size(); ++node) stack.push(node);
  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      for (long round = 0; round < rounds; ++round) {
        const Node first = stack.pop().value(), second = stack.pop().value();  // never empty: two nodes per thread
        ++counters[first];
        ++counters[second];
        stack.push(first);
        stack.push(second);
      }
    });
  }
  running.clear();  // waits for all of them
  return std::accumulate(counters.begin(), counters.end(), 0L);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 4;
  long rounds = 20'000;
  cookbook::Options options("Share a stack between threads without a lock");
  options.add("threads", threads, "threads that share the stack", 1, 64);
  options.add("rounds", rounds, "rounds per thread", 1, 10'000'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  checks.equal("bare head: the stack while nodes 0 and 1 are out", let_a_quick_thread_come_between<Head::bare>(),
               {1, 2});
  checks.equal("counted head: the stack while nodes 0 and 1 are out", let_a_quick_thread_come_between<Head::counted>(),
               {2});
  checks.equal("counted head: additions by all threads", use_together(threads, rounds), 2 * threads * rounds);
  return checks.exit_code();
}

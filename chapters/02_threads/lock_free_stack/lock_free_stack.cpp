// A stack without a lock
//
// A slow thread is about to pop node 0 from a stack of 0, 1, 2, and a quick thread comes between: it pops 0 and 1 and
// pushes 0 again. The output shows the head and the stack after each step. A head that is only the number of the top
// node is the same again, so the slow thread puts node 1, which the quick thread has, into the stack (the ABA problem).
// A head that also counts its changes differs, so the slow thread tries again.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/lock_free_stack/lock_free_stack.cpp common/cookbook/*.cpp -lfmt -pthread -o lock_free_stack
// Run:     lock_free_stack [--threads N] [--rounds N]

#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "run_concurrently.hpp"
#include "treiber_stack.hpp"

namespace {

/// A slow thread pops a node, and a quick one comes between. Prints the head and the stack after each step, and returns
/// the nodes that are in the stack in the end although a thread has taken them out.
template <Head kind>
std::vector<Node> let_a_quick_thread_come_between() {
  TreiberStack<kind> stack(3);
  for (const Node node : {2, 1, 0}) stack.push(node);
  const auto text_of = [](std::uint64_t head) {
    const Node top = static_cast<Node>(head);
    return kind == Head::bare ? fmt::format("{}", top) : fmt::format("{}, {}", top, head >> 32);
  };
  const auto row = [&](const std::string& event) {
    cookbook::println("{:<34}{:<6}{}", event, text_of(stack.head()), stack.contents());
  };

  Node kept = 0;
  int attempts = 0;
  std::string read;
  const auto in_between = [&] {  // the slow thread has read the head and changed nothing yet
    if (++attempts > 1) {
      cookbook::println("{:<34}not equal to {}", "slow: compares the head", read);
      return row("slow: reads the head again");
    }
    read = text_of(stack.head());
    row("slow: reads the head");
    std::jthread([&] {  // the quick thread
      const Node zero = stack.pop().value();
      row(fmt::format("  quick: pops node {}", zero));
      kept = stack.pop().value();
      row(fmt::format("  quick: pops node {} and keeps it", kept));
      stack.push(zero);
      row(fmt::format("  quick: pushes node {} again", zero));
    })
        .join();  // it has ended when the slow thread goes on
  };
  const Node popped = stack.pop(in_between).value();
  if (attempts == 1) cookbook::println("{:<34}equal to {}", "slow: compares the head", read);
  row(fmt::format("slow: pops node {}", popped));

  std::vector<Node> in_both;
  for (const Node node : stack.contents()) {
    if (node == popped || node == kept) in_both.push_back(node);
  }
  return in_both;
}

/// Each thread takes two nodes out, adds 1 to the counters in them and puts them back, `rounds` times. Returns the sum
/// of all counters: if two threads ever had the same node at the same time, additions would get lost.
long use_together(int threads, long rounds) {
  std::vector<long> counters(2 * static_cast<std::size_t>(threads));
  TreiberStack<Head::counted> stack(counters.size());
  for (Node node = 0; node < counters.size(); ++node) stack.push(node);
  run_concurrently(threads, [&](int) {
    for (long round = 0; round < rounds; ++round) {
      const Node first = stack.pop().value(), second = stack.pop().value();  // never empty: two nodes per thread
      ++counters[first];
      ++counters[second];
      stack.push(first);
      stack.push(second);
    }
  });
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

  cookbook::println("{:<34}{:<6}{}", "bare head: the top node", "head", "stack");
  const std::vector<Node> in_bare = let_a_quick_thread_come_between<Head::bare>();
  cookbook::println("\n{:<34}{:<6}{}", "counted head: top node, changes", "head", "stack");
  const std::vector<Node> in_counted = let_a_quick_thread_come_between<Head::counted>();

  cookbook::Checks checks;
  checks.equal("bare head: nodes in the stack that a thread has taken out", in_bare, {1});
  checks.equal("counted head: nodes in the stack that a thread has taken out", in_counted, {});
  checks.equal("counted head: additions by all threads", use_together(threads, rounds), 2 * threads * rounds);
  return checks.exit_code();
}

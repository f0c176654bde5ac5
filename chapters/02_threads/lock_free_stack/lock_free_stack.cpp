// A stack without a lock
//
// A thread is about to pop node 0 from a stack of 0, 1, 2, and another thread comes between: it pops 0 and 1 and pushes
// 0 again. The output follows both, line by line. With a head that is only the number of the top node, the first thread
// notices nothing, and puts node 1, which the other thread has, into the stack (the ABA problem). With a head that also
// counts its changes it notices, and tries again. In the end several threads use that stack at the same time.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/lock_free_stack/lock_free_stack.cpp common/cookbook/*.cpp -lfmt -pthread -o lock_free_stack
// Run:     lock_free_stack [--threads N] [--rounds N]

#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "run_concurrently.hpp"
#include "treiber_stack.hpp"

namespace {

/// A slow thread pops a node, and a quick one comes between. Prints what they do and what is in the stack after it.
/// Returns the nodes that are in the stack although a thread has taken them out.
template <Head kind>
std::vector<Node> let_a_quick_thread_come_between() {
  TreiberStack<kind> stack(3);
  for (const Node node : {2, 1, 0}) stack.push(node);
  const auto print = [&](const std::string& event) { cookbook::println("{:<50}{}", event, stack.contents()); };

  Node kept = 0;
  int attempt = 0;
  const auto in_between = [&] {  // the slow thread has read the head and changed nothing yet
    print("slow thread: reads the top node and the next one");
    if (++attempt > 1) return;
    std::jthread quick([&] {  // runs to its end before the slow thread goes on
      const Node zero = stack.pop().value();
      print(fmt::format("  quick thread: pops node {}", zero));
      kept = stack.pop().value();
      print(fmt::format("  quick thread: pops node {} and keeps it", kept));
      stack.push(zero);
      print(fmt::format("  quick thread: pushes node {}", zero));
    });
  };
  const Node popped = stack.pop(in_between).value();
  print(fmt::format("slow thread: has popped node {} in attempt {}", popped, attempt));

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

  cookbook::println("with a bare head:                                 the stack, from the top down");
  const std::vector<Node> in_both_bare = let_a_quick_thread_come_between<Head::bare>();
  cookbook::println("with a counted head:");
  const std::vector<Node> in_both_counted = let_a_quick_thread_come_between<Head::counted>();

  cookbook::Checks checks;
  checks.equal("bare head: nodes in the stack that a thread has taken out", in_both_bare, {1});
  checks.equal("counted head: nodes in the stack that a thread has taken out", in_both_counted, {});
  checks.equal("counted head: additions by all threads", use_together(threads, rounds), 2 * threads * rounds);
  return checks.exit_code();
}

// A stack without a lock
//
// A slow thread is about to pop node 0 from a stack of 0, 1, 2, and a quick thread comes between: it pops 0 and 1 and
// pushes 0 again. The output shows the head and the stack after each step. A head that is only the number of the top
// node is the same again, so the slow thread puts node 1, which the quick thread has, into the stack (the ABA problem).
// A head that also counts its changes differs, so the slow thread tries again.
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

/// What has happened, and the head and the stack after it.
struct Step {
  std::string event, head, stack;
};

struct Course {
  std::vector<Step> steps;
  std::string compared;       // what the slow thread has found when it compared the head for the first time
  std::vector<Node> in_both;  // the nodes that are in the stack although a thread has taken them out
};

/// A slow thread pops a node, and a quick one comes between.
template <Head kind>
Course let_a_quick_thread_come_between() {
  TreiberStack<kind> stack(3);
  for (const Node node : {2, 1, 0}) stack.push(node);
  Course course;
  const auto note = [&](const std::string& event) {
    const Node top = static_cast<Node>(stack.head());
    const std::string head =
        kind == Head::bare ? fmt::format("{}", top) : fmt::format("{}, {} changes", top, stack.head() >> 32);
    course.steps.push_back({event, head, fmt::format("{}", stack.contents())});
  };

  Node kept = 0;
  int attempts = 0;
  const auto in_between = [&] {  // the slow thread has read the head and changed nothing yet
    if (++attempts > 1) return;
    note("slow thread reads the head");
    std::jthread quick([&] {  // runs to its end before the slow thread goes on
      const Node zero = stack.pop().value();
      note(fmt::format("  quick thread pops node {}", zero));
      kept = stack.pop().value();
      note(fmt::format("  quick thread pops node {} and keeps it", kept));
      stack.push(zero);
      note(fmt::format("  quick thread pushes node {}", zero));
    });
  };
  const Node popped = stack.pop(in_between).value();
  course.compared = attempts == 1 ? "equal" : "not equal: tries again";
  note(fmt::format("slow thread pops node {}", popped));

  for (const Node node : stack.contents()) {
    if (node == popped || node == kept) course.in_both.push_back(node);
  }
  return course;
}

/// Prints what happened to both stacks, side by side.
void print(const Course& bare, const Course& counted) {
  cookbook::println("{:<41}{:<11}{:<11}{:<14}{}", "", "bare head", "stack", "counted head", "stack");
  for (std::size_t i = 0; i < bare.steps.size(); ++i) {
    const Step &one = bare.steps[i], &other = counted.steps[i];
    if (i + 1 == bare.steps.size()) {
      cookbook::println("{:<41}{:<22}{}", "slow thread compares the head", bare.compared, counted.compared);
    }
    cookbook::println("{:<41}{:<11}{:<11}{:<14}{}", one.event, one.head, one.stack, other.head, other.stack);
  }
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

  const Course bare = let_a_quick_thread_come_between<Head::bare>();
  const Course counted = let_a_quick_thread_come_between<Head::counted>();
  print(bare, counted);

  cookbook::Checks checks;
  checks.equal("bare head: nodes in the stack that a thread has taken out", bare.in_both, {1});
  checks.equal("counted head: nodes in the stack that a thread has taken out", counted.in_both, {});
  checks.equal("counted head: additions by all threads", use_together(threads, rounds), 2 * threads * rounds);
  return checks.exit_code();
}

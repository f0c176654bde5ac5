// Tests a TreiberStack whose pop() a learner has written.

#include "treiber_stack.hpp"

#include <atomic>
#include <cstdio>
#include <latch>
#include <thread>
#include <vector>

using judge::expect;

namespace {

using Stack = TreiberStack<Head::counted>;

void one_thread() {
  Stack stack(3);
  expect(!stack.pop(), "pop() of an empty stack returns a node.");
  for (Node node = 0; node < 3; ++node) stack.push(node);
  int attempts = 0;
  expect(stack.pop([&] { ++attempts; }) == Node{2}, "pop() does not return the top node.");
  expect(attempts == 1, "pop() does not call in_between once in each attempt.");
  expect(stack.pop() == Node{1} && stack.pop() == Node{0} && !stack.pop(), "pop() does not take the nodes in turn.");
}

/// While pop() is between its look at the head and its change, others take the two top nodes and put the first back.
void the_head_is_the_same_again() {
  Stack stack(3);
  for (const Node node : {2, 1, 0}) stack.push(node);
  int attempts = 0;
  const std::optional<Node> taken = stack.pop([&] {
    if (++attempts > 1) return;
    expect(stack.pop() == Node{0} && stack.pop() == Node{1}, "pop() does not take the nodes in turn.");
    stack.push(0);
  });
  expect(taken == Node{0}, "pop() does not return the node that is on top now.");
  expect(stack.contents() == std::vector<Node>{2}, "A node that another thread has taken is in the stack again.");
  expect(attempts == 2, "pop() does not begin again when others have changed the head.");
}

/// The same, but the stack is empty when it looks again.
void nothing_is_left() {
  Stack stack(1);
  stack.push(0);
  bool first = true;
  const auto taken = stack.pop([&] {
    if (first) stack.pop();
    first = false;
  });
  expect(!taken, "pop() returns a node that another thread has taken meanwhile.");
}

/// Others change the head in many attempts, so that one after the other fails.
void it_does_not_give_up() {
  Stack stack(2);
  stack.push(0);
  stack.push(1);
  int attempts = 0;
  const auto taken = stack.pop([&] {
    if (++attempts <= 10'000) stack.push(stack.pop().value_or(0));
  });
  expect(taken == Node{1}, "pop() gives up when others have changed the head often, although the stack is not empty.");
}

void many_threads() {
  constexpr Node nodes = 8;
  Stack stack(nodes);
  for (Node node = 0; node < nodes; ++node) stack.push(node);
  std::vector<long> contents(nodes);  // not atomic: it belongs to the thread that has taken the node out
  std::vector<std::atomic<int>> holders(nodes);
  {
    std::latch all_are_there(4);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        all_are_there.arrive_and_wait();
        for (int round = 0; round < 10'000; ++round) {
          const std::optional<Node> node = stack.pop();
          if (!node) continue;
          // relaxed: of the stack alone it has what orders the uses of the contents
          expect(holders[*node].fetch_add(1, std::memory_order_relaxed) == 0, "Two threads have the same node.");
          ++contents[*node];
          holders[*node].fetch_sub(1, std::memory_order_relaxed);
          stack.push(*node);
        }
      });
    }
  }
  expect(stack.contents().size() == nodes, "Nodes have got lost.");
}

}  // namespace

int main() {
  one_thread();
  the_head_is_the_same_again();
  nothing_is_left();
  it_does_not_give_up();
  many_threads();
  std::puts("every node has one owner");
}

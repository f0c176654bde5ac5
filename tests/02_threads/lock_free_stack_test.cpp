// The program's output, and TreiberStack from inside.

#include <atomic>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "02_threads/lock_free_stack/treiber_stack.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using Nodes = std::vector<Node>;

TEST(lock_free_stack, no_addition_is_lost_by_any_number_of_threads) {
  for (const int threads : {1, 2, 3, 8, 32}) {
    const auto result = run("lock_free_stack", {"--threads", std::to_string(threads), "--rounds", "5000"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    counted head: additions by all threads: " + std::to_string(2 * threads * 5000)))
        << result.text();
  }
}

TEST(lock_free_stack, the_program_shows_the_problem_and_its_cure) {
  const auto result = run("lock_free_stack", {"--rounds", "1"});
  EXPECT_TRUE(result.has_line("ok    bare head: nodes in the stack that a thread has taken out: [1]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    counted head: nodes in the stack that a thread has taken out: []"));
  // While the slow thread is between, both stacks are changed alike. The bare head is 0 again and node 1, which is out,
  // comes back; the counted head differs.
  const auto row = [&](const std::string& event, const std::string& bare, const std::string& counted) {
    EXPECT_EQ(result.captures("^" + event + " +(\\S.*)"), (std::vector{bare, counted})) << result.text();
  };
  row("slow: reads the head  ", "0     [0, 1, 2]", "0, 3  [0, 1, 2]");
  row("  quick: pops node 0", "1     [1, 2]", "1, 4  [1, 2]");
  row("  quick: pops node 1 and keeps it", "2     [2]", "2, 5  [2]");
  row("  quick: pushes node 0 again", "0     [0, 2]", "0, 6  [0, 2]");
  row("slow: compares the head", "equal to 0", "not equal to 0, 3");
  row("slow: pops node 0", "1     [1, 2]", "2, 7  [2]");
  EXPECT_TRUE(result.has_line("slow: reads the head again        0, 6  [0, 2]")) << result.text();
}

template <Head kind>
void expect_last_in_first_out() {
  TreiberStack<kind> stack(4);
  EXPECT_EQ(stack.pop(), std::nullopt);
  for (const Node node : {2, 0, 3}) stack.push(node);
  EXPECT_EQ(stack.contents(), (Nodes{3, 0, 2}));
  EXPECT_EQ(stack.pop(), 3U);
  stack.push(1);
  EXPECT_EQ(stack.pop(), 1U);
  EXPECT_EQ(stack.pop(), 0U);
  EXPECT_EQ(stack.pop(), 2U);
  EXPECT_EQ(stack.pop(), std::nullopt);
  EXPECT_TRUE(stack.contents().empty());
}

TEST(lock_free_stack_class, gives_back_last_in_first_out) {
  expect_last_in_first_out<Head::bare>();
  expect_last_in_first_out<Head::counted>();
}

template <Head kind>
void expect_to_notice_another_node() {
  TreiberStack<kind> stack(3);
  for (const Node node : {1, 0}) stack.push(node);
  int attempts = 0;
  const auto popped = stack.pop([&] {
    if (++attempts == 1) stack.push(2);
  });
  EXPECT_EQ(popped, 2U);
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(stack.contents(), (Nodes{0, 1}));
}

TEST(lock_free_stack_class, a_pop_notices_that_another_node_is_on_top) {
  expect_to_notice_another_node<Head::bare>();
  expect_to_notice_another_node<Head::counted>();
}

/// On a stack of 0, 1, 2: while a pop is between its reading and its exchange, 0 and 1 go out and 0 comes back.
template <Head kind>
struct ComesBack {
  ComesBack() : stack(3) {
    for (const Node node : {2, 1, 0}) stack.push(node);
    popped = stack.pop([&] {
      if (++attempts > 1) return;
      const Node zero = stack.pop().value();
      stack.pop();
      stack.push(zero);
    });
  }
  TreiberStack<kind> stack;
  int attempts = 0;
  std::optional<Node> popped;
};

TEST(lock_free_stack_class, the_bare_head_does_not_notice_that_node_0_was_away) {
  ComesBack<Head::bare> here;
  EXPECT_EQ(here.popped, 0U);
  EXPECT_EQ(here.attempts, 1);
  EXPECT_EQ(here.stack.contents(), (Nodes{1, 2}));  // but somebody else has node 1
  here.stack.push(1);                               // who puts it back: below 1 there is now 1
  EXPECT_EQ(here.stack.contents(), (Nodes{1, 1, 1, 1}));
}

TEST(lock_free_stack_class, the_counted_head_notices_it_and_tries_again) {
  ComesBack<Head::counted> here;
  EXPECT_EQ(here.popped, 0U);
  EXPECT_EQ(here.attempts, 2);
  EXPECT_EQ(here.stack.contents(), (Nodes{2}));
  here.stack.push(1);
  EXPECT_EQ(here.stack.contents(), (Nodes{1, 2}));
}

TEST(lock_free_stack_class, no_node_is_lost_or_doubled_by_many_threads) {
  constexpr int threads = 4, rounds = 30'000;
  std::vector<long> uses(threads);  // so few nodes that the stack is often empty; each belongs to who has taken it out
  std::atomic<long> all_uses = 0;
  TreiberStack<Head::counted> stack(uses.size());
  for (Node node = 0; node < uses.size(); ++node) stack.push(node);
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i) {
      running.emplace_back([&] {
        long mine = 0;
        for (int round = 0; round < rounds; ++round) {
          const auto first = stack.pop(), second = stack.pop();
          for (const auto node : {first, second}) {
            if (node) ++uses[*node], ++mine;
          }
          for (const auto node : {first, second}) {
            if (node) stack.push(*node);
          }
        }
        all_uses += mine;
      });
    }
  }
  EXPECT_EQ(std::accumulate(uses.begin(), uses.end(), 0L), all_uses);
  std::multiset<Node> left;
  while (const auto node = stack.pop()) {
    left.insert(*node);
    ASSERT_LE(left.size(), uses.size());
  }
  EXPECT_EQ(left, (std::multiset<Node>{0, 1, 2, 3}));
}

}  // namespace

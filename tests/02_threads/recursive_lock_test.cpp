// Recursive lock: the program seen from outside. Catalogue: 2.5.

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(recursive_lock, as_many_items_are_removed_as_added) {
  for (const long items : {1L, 5L, 100L}) {
    const auto result = run("recursive_lock", {"--items", std::to_string(items), "--delay-ms", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^added one item, total ").size(), static_cast<std::size_t>(items)) << result.text();
    EXPECT_EQ(result.lines_with("^removed one item, total ").size(), static_cast<std::size_t>(items)) << result.text();
    EXPECT_TRUE(result.has_line("ok    items still in the box: 0")) << result.text();
  }
}

TEST(recursive_lock, every_total_is_one_that_some_order_gives) {
  for (const long items : {1L, 5L, 1'000L}) {
    const auto result = run("recursive_lock", {"--items", std::to_string(items), "--delay-ms", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    long sum = 0;
    for (const auto& total : result.captures("one item, total (-?\\d+)$")) {
      EXPECT_LE(std::abs(std::stol(total)), items);
      sum += std::stol(total);
    }
    // The parity of the total changes with every item, so half of the totals are odd.
    EXPECT_EQ(std::abs(sum) % 2, items % 2) << result.text();
  }
}

TEST(recursive_lock, no_change_is_lost_with_either_lock) {
  const auto result = run("recursive_lock", {"--delay-ms", "0"});
  EXPECT_TRUE(result.has_line("ok    still in it after 1000000 more of each: 0")) << result.text();
  EXPECT_TRUE(result.has_line("ok    in the box without recursion after 1000000 of each: 0")) << result.text();
}

TEST(recursive_lock, only_the_recursive_lock_lets_its_holder_in_again) {
  for (const char* patience : {"0", "100"}) {
    const auto result = run("recursive_lock", {"--delay-ms", patience});
    EXPECT_TRUE(result.has_line("ok    a plain lock can be taken again by its holder: false")) << result.text();
    EXPECT_TRUE(result.has_line("ok    a recursive lock can be taken again by its holder: true")) << result.text();
  }
}

TEST(recursive_lock, a_plain_lock_is_waited_for_as_long_as_was_asked) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run("recursive_lock", {"--items", "1", "--delay-ms", "300"}).exit_code, 0);
  // The adder and the remover pause at the same time, and after them the plain lock is waited for.
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(600));
}

TEST(recursive_lock, is_free_for_others_only_after_as_many_unlocks) {
  const auto result = run("recursive_lock");
  EXPECT_TRUE(result.has_line("ok    another thread can take it at depth 1: false")) << result.text();
  EXPECT_TRUE(result.has_line("ok    another thread can take it at depth 2: false")) << result.text();
  EXPECT_TRUE(result.has_line("ok    another thread can take it after one of two unlocks: false")) << result.text();
  EXPECT_TRUE(result.has_line("ok    another thread can take it after both: true")) << result.text();
  for (const char* depth : {"1", "2", "500"}) {
    const auto deep = run("recursive_lock", {"--depth", depth, "--delay-ms", "0"});
    EXPECT_EQ(deep.exit_code, 0) << deep.text();
    EXPECT_TRUE(deep.has_line(std::string("ok    unlocks needed until another thread can take it: ") + depth))
        << deep.text();
  }
}

TEST(recursive_lock, an_interrupt_ends_it_at_once) {
  const auto result = run("recursive_lock", {"--delay-ms", "60000"}, {.interrupt_after_ms = 200});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace

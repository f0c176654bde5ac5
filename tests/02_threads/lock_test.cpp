// Lock: the program seen from outside. Catalogue: 2.C3, 2.4, 2.C4, 2.C6.

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(lock, ends_at_zero_with_a_lock_and_in_range_without) {
  for (const long changes : {1L, 2L, 1'000L, 100'000L, 1'000'000L}) {
    const auto result = run("lock", {"--changes", std::to_string(changes)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    counter with a lock: 0"));
    EXPECT_TRUE(result.has_line("ok    counter with an atomic add: 0"));
    const auto unlocked = result.captures("counter without a lock: (-?\\d+)");
    ASSERT_EQ(unlocked.size(), 1U) << result.text();
    EXPECT_LE(std::abs(std::stol(unlocked[0])), changes);
  }
}

TEST(lock, a_forced_interleaving_loses_exactly_one_update) {
  EXPECT_TRUE(run("lock").has_line("ok    counter after one +1 and one -1, the -1 overwritten: 1"));
}

TEST(lock, state_table_of_the_lock_holds) {
  const auto result = run("lock");
  EXPECT_TRUE(result.has_line("ok    another thread can take a locked lock: false")) << result.text();
  EXPECT_TRUE(result.has_line("ok    another thread can take it once unlocked: true")) << result.text();
  EXPECT_TRUE(result.has_line("ok    unlocking what is not held is refused: true")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a semaphore released by another thread is free: true")) << result.text();
}

}  // namespace

// Scoped locking: the program seen from outside. Catalogue: 2.9.

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(scoped_locking, eight_threads_take_four_primitives_in_pairs) {
  for (const char* delay : {"0", "1", "20"}) {
    const auto result = run("scoped_locking", {"--delay-ms", delay});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^\\(Thread-[1357]  \\) .* taken by (lock_guard|scoped_lock|unique_lock)$").size(), 4U);
    EXPECT_EQ(result.lines_with("^\\(Thread-[2468]  \\) .* taken by hand$").size(), 4U);
    auto numbers = result.captures("^\\(Thread-(\\d+) +\\)");
    EXPECT_THAT(numbers, testing::UnorderedElementsAre("1", "2", "3", "4", "5", "6", "7", "8"));
    // Pairs come in order; within a pair either may be first.
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ((std::stoul(numbers[i]) - 1) / 2, i / 2) << result.text();
    }
  }
}

TEST(scoped_locking, every_primitive_is_free_after_its_pair_and_after_exceptions) {
  const auto result = run("scoped_locking");
  for (const std::string name : {"lock", "recursive lock", "condition", "semaphore"}) {
    EXPECT_TRUE(result.has_line("ok    " + name + " is free after both: true")) << result.text();
    EXPECT_TRUE(result.has_line("ok    " + name + " is free after exceptions: true")) << result.text();
  }
}

TEST(scoped_locking, two_blocks_of_a_pair_never_overlap) {
  for (const char* delay : {"0", "10", "30"}) {
    const auto result = run("scoped_locking", {"--delay-ms", delay});
    EXPECT_TRUE(result.has_line("ok    times that two were under one lock at once: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    threads that had their lock: 8")) << result.text();
  }
}

TEST(scoped_locking, eight_blocks_one_after_the_other_take_eight_delays) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run("scoped_locking", {"--delay-ms", "50"}).exit_code, 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(8 * 50));
}

TEST(scoped_locking, a_lock_is_held_as_long_as_its_scoped_object_lives) {
  const auto result = run("scoped_locking");
  EXPECT_TRUE(result.has_line("ok    a condition gives the lock back while it waits: true")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a lock handed out of a function is free: false")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a lock held without a name is free: true")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a lock held in neither form is free after an exception: false")) << result.text();
}

TEST(scoped_locking, an_interrupt_ends_it_at_once) {
  const auto result = run("scoped_locking", {"--delay-ms", "60000"}, {.interrupt_after_ms = 200});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace

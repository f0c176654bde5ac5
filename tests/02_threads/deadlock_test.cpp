// Deadlock: the program seen from outside. Catalogue: 2.C3, 2.C6.

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(deadlock, crossed_locks_and_semaphores_all_time_out) {
  for (const char* patience : {"0", "1", "50"}) {
    const auto result = run("deadlock", {"--patience-ms", patience, "--payments", "10"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    threads that got both locks, taken crosswise: 0")) << result.text();
    EXPECT_TRUE(result.has_line("ok    threads that got both semaphores, taken crosswise: 0")) << result.text();
  }
}

TEST(deadlock, a_crossed_thread_waits_out_its_patience) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run("deadlock", {"--patience-ms", "250", "--payments", "1"}).exit_code, 0);
  // Once for the locks and once for the semaphores.
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
}

TEST(deadlock, every_cure_completes_any_number_of_rounds) {
  for (const long payments : {1L, 2L, 1'000L, 100'000L}) {
    const auto result = run("deadlock", {"--payments", std::to_string(payments), "--patience-ms", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string both = std::to_string(2 * payments);
    for (const std::string cure : {"fixed order", "both at once", "tried and given back"}) {
      EXPECT_TRUE(result.has_line("ok    payments, " + cure + ": " + both)) << result.text();
      EXPECT_TRUE(result.has_line("ok    balances, " + cure + ": [1000, 1000]")) << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    rounds with both semaphores, fixed order: " + both)) << result.text();
  }
}

TEST(deadlock, back_off_says_how_often_it_gave_back) {
  EXPECT_EQ(run("deadlock").captures("the first lock was given back (\\d+) times").size(), 1U);
}

TEST(deadlock, an_interrupt_ends_it_while_it_waits) {
  const auto result = run("deadlock", {"--patience-ms", "60000"}, {.interrupt_after_ms = 200});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

TEST(deadlock_deadlock, both_threads_wait_and_neither_gets_further) {
  const auto result = run("deadlock_deadlock", {}, {.limit = std::chrono::seconds(1)});
  EXPECT_TRUE(result.timed_out) << result.text();
  EXPECT_THAT(result.out, testing::UnorderedElementsAre("A holds its first lock and waits for its second",
                                                        "B holds its first lock and waits for its second"));
}

TEST(deadlock_deadlock, an_interrupt_ends_it) {
  const auto result = run("deadlock_deadlock", {}, {.interrupt_after_ms = 300});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace

// Timeouts and cancellation: the program seen from outside.

#include "support/run.hpp"

namespace {

using test_support::run;

/// The tests ask whether results are right, not how fast anything is: one measured round will do.
const test_support::Setting once = {.environment = {{"COOKBOOK_ROUNDS", "1"}}};

TEST(timeouts_and_cancellation, a_deadline_ends_a_group_and_leaves_nothing_held) {
  const auto result = run("timeouts_and_cancellation", {"--operations", "100"}, once);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    three operations, and time enough: ABC")) << result.text();
  EXPECT_TRUE(result.has_line("ok    three operations, one of them too slow: nothing in time")) << result.text();
  EXPECT_TRUE(result.has_line("ok    taken and not given back: 0")) << result.text();
}

TEST(timeouts_and_cancellation, reaches_the_deepest_coroutine_at_any_depth) {
  for (const std::string depth : {"1", "2", "10", "1000"}) {
    const auto result = run("timeouts_and_cancellation", {"--depth", depth, "--operations", "10"}, once);
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    a deadline reaches coroutine " + depth + ": yes")) << result.text();
    EXPECT_TRUE(result.has_line("ok    taken in all: " + depth)) << result.text();
    EXPECT_TRUE(result.has_line("ok    all gave back what they held, the innermost first: yes")) << result.text();
  }
}

TEST(timeouts_and_cancellation, cancelling_is_told_once_and_not_in_the_middle_of_a_transfer) {
  const auto result = run("timeouts_and_cancellation", {"--operations", "10"}, once);
  EXPECT_TRUE(result.has_line("ok    how the operation ended, told once: [\"cancelled\"]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    the transfer: [\"taken\", \"given\"]")) << result.text();
}

TEST(timeouts_and_cancellation, an_operation_that_fails_is_heard_of_only_as_a_result) {
  const auto result = run("timeouts_and_cancellation", {"--operations", "10"}, once);
  EXPECT_TRUE(result.has_line("ok    an operation that fails at once, under a deadline: nothing in time"))
      << result.text();
  EXPECT_TRUE(result.has_line("ok    the same, with the error as its result: refused")) << result.text();
}

TEST(timeouts_and_cancellation, the_unit_of_time_changes_nothing_but_the_time) {
  const auto result = run("timeouts_and_cancellation", {"--unit-ms", "5", "--operations", "10"}, once);
  EXPECT_EQ(result.exit_code, 0) << result.text();
}

TEST(timeouts_and_cancellation, ctrl_c_ends_it_at_once) {
  const auto result = run("timeouts_and_cancellation", {"--unit-ms", "10000"}, {.interrupt_after_ms = 100});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.left_behind, 0) << result.text();
}

}  // namespace

// The program's output. A cure that can deadlock shows as a program that runs into the limit.

#include <fmt/format.h>

#include "support/run.hpp"

namespace {

using test_support::run;
using namespace std::chrono_literals;

test_support::Result run_with(long payments) {
  return run("deadlock", {"--payments", std::to_string(payments)}, {.limit = 10s});
}

TEST(deadlock, nobody_gets_both_locks_if_they_are_taken_crosswise) {
  for (int i = 0; i < 3; ++i) {
    const auto result = run_with(1);
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    threads that got both locks, taken crosswise: 0")) << result.text();
  }
}

TEST(deadlock, every_cure_makes_all_payments_and_loses_no_money) {
  for (const long payments : {1L, 2L, 1'000L, 300'000L}) {
    const auto result = run_with(payments);
    ASSERT_FALSE(result.timed_out) << result.text();
    ASSERT_EQ(result.exit_code, 0) << result.text();
    // Account 1 pays 1 and gets 3 as often, both start with 3 per payment.
    const std::string balances = fmt::format("[{}, {}]", 5 * payments, payments);
    for (const std::string cure : {"fixed order", "both at once", "tried and given back"}) {
      EXPECT_TRUE(result.has_line("ok    balances, " + cure + ": " + balances)) << result.text();
    }
  }
}

TEST(deadlock, the_inverted_order_goes_unnoticed_without_a_tool) {
  const auto result =
      run("deadlock_inversion", {}, {.environment = {{"TSAN_OPTIONS", "exitcode=0 detect_deadlocks=0"}}});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.out, (std::vector<std::string>{"A held both", "B held both"}));
}

}  // namespace

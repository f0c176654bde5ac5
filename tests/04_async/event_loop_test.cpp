// Event loop: the program seen from outside. Catalogue: 4.C3, 4.2.

#include "support/run.hpp"

namespace {

using test_support::run;

const std::string call = "^function_(\\d) called$";

TEST(event_loop, nine_calls_in_a_ring) {
  const auto result = run("event_loop", {"--second-ms", "10"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures(call), (std::vector<std::string>{"1", "2", "3", "1", "2", "3", "1", "2", "3"}));
}

TEST(event_loop, a_deadline_of_d_seconds_gives_ceil_d_calls_and_at_least_one) {
  const std::map<std::string, int> expected = {{"0", 1}, {"0.5", 1}, {"1", 1}, {"1.5", 2}, {"3", 3}, {"8.25", 9}};
  for (const auto& [deadline, calls] : expected) {
    const auto result = run("event_loop", {"--deadline", deadline, "--second-ms", "5"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(static_cast<int>(result.captures(call).size()), calls) << deadline;
  }
}

TEST(event_loop, the_first_stop_ends_both_chains) {
  const auto result = run("event_loop", {"--chains", "2", "--second-ms", "10"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^function_[123] called$").size(), 9U);
  // The ring's ninth call stops the loop; the other chain's ninth may be in the same turn or is lost.
  const std::size_t self = result.lines_with("^function_4 called$").size();
  EXPECT_TRUE(self == 8 || self == 9) << result.text();
}

TEST(event_loop, loops_own_rules_hold) {
  const auto result = run("event_loop", {"--second-ms", "1"});
  EXPECT_TRUE(result.has_line("ok    timers due at once run in the order of scheduling: [0, 1, 2, 3, 4]"));
  EXPECT_TRUE(result.has_line("ok    callbacks run after stop: 0"));
  EXPECT_TRUE(result.has_line("ok    callbacks that overlapped: 0"));
  EXPECT_TRUE(result.has_line("ok    calls before their time: 0"));
}

TEST(event_loop, ctrl_c_ends_it) {
  const auto result = run("event_loop", {"--second-ms", "10000"}, {.interrupt_after_ms = 100});
  EXPECT_EQ(result.exit_code, -2);
  EXPECT_EQ(result.captures(call), (std::vector<std::string>{"1"}));
}

}  // namespace

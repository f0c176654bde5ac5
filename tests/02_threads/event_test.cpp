// Event: the program seen from outside. Catalogue: 2.8.

#include "support/run.hpp"

namespace {

using test_support::run;

/// How many items were consumed in this way; -1 if the program does not say.
int consumed(const test_support::Result& result, const std::string& way) {
  const auto found = result.captures("^ok    consumed, " + way + ": (\\d+)$");
  return found.size() == 1 ? std::stoi(found[0]) : -1;
}

TEST(event, a_pulse_releases_who_waits_and_nobody_who_comes_later) {
  const auto result = run("event");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    a pulse releases a waiter: true")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a pulse releases who comes later: false")) << result.text();
}

TEST(event, a_pulse_releases_nobody_who_looks_at_the_flag_alone) {
  EXPECT_TRUE(run("event").has_line("ok    a pulse releases a waiter that looks at the flag alone: false"));
}

TEST(event, a_set_without_clear_releases_all_present_and_later_waiters) {
  EXPECT_TRUE(run("event").has_line("ok    released by one set: 3 waiters and a late comer: 4"));
}

TEST(event, each_pulse_that_nobody_waits_for_loses_an_item) {
  for (const int items : {1, 3, 4, 100, 1000}) {
    const auto result = run("event", {"--items", std::to_string(items), "--delay-ms", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(consumed(result, "every fourth pulse missed"), items - items / 4) << result.text();
  }
}

TEST(event, consumes_what_was_produced_and_nothing_twice_whatever_is_lost) {
  for (const char* delay : {"0", "1", "3"}) {
    for (const char* seed : {"1", "2"}) {
      const auto result = run("event", {"--delay-ms", delay, "--seed", seed});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(result.lines_with("^ok    consumed and left are what was produced: true$").size(), 6U) << result.text();
      for (const char* way : {"pulses as they come", "pulses as they come, flag alone"}) {
        EXPECT_GE(consumed(result, way), 0) << result.text();
        EXPECT_LE(consumed(result, way), 100) << result.text();
      }
    }
  }
}

TEST(event, every_cure_delivers_every_item_and_ends_on_a_stop_request) {
  for (const int items : {1, 100, 10'000}) {
    const auto result = run("event", {"--items", std::to_string(items), "--delay-ms", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    for (const char* way : {"handshake", "semaphore", "counter"}) {
      EXPECT_EQ(consumed(result, way), items) << result.text();
    }
  }
}

TEST(event, set_and_cleared_at_once_loses_signals) {
  const auto result = run("event_lost");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  const auto taken = result.captures("^(\\d+) of 100 consumed, \\d+ left in the list$");
  const auto left = result.captures("^\\d+ of 100 consumed, (\\d+) left in the list$");
  ASSERT_EQ(taken.size(), 1U) << result.text();
  EXPECT_LT(std::stoi(taken[0]), 100);
  EXPECT_EQ(std::stoi(taken[0]) + std::stoi(left[0]), 100);
}

TEST(event, ends_at_once_when_interrupted) {
  test_support::Setting setting;
  setting.interrupt_after_ms = 200;
  setting.limit = std::chrono::seconds(5);
  const auto result = run("event", {"--delay-ms", "10000"}, setting);
  EXPECT_EQ(result.exit_code, -2) << result.text();  // by SIGINT
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace

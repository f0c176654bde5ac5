// Condition variable: the program seen from outside. Catalogue: 2.7, 2.C7.

#include "support/run.hpp"

namespace {

using test_support::run;
using Arguments = std::vector<std::string>;

/// The arguments of a run without delays.
Arguments at_once(Arguments more) {
  more.insert(more.end(), {"--produce-ms", "0", "--consume-ms", "0"});
  return more;
}

/// The 20 items passed through, none is left, and there were never more than `capacity` at once.
void expect_balanced(const test_support::Result& result, int items, int capacity) {
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    items taken as the threads come: " + std::to_string(items))) << result.text();
  EXPECT_TRUE(result.has_line("ok    each of them once: true")) << result.text();
  EXPECT_TRUE(result.has_line("ok    items left: 0")) << result.text();
  const auto most = result.captures("^ok    most in the buffer at once: (\\d+)$");
  ASSERT_EQ(most.size(), 1U) << result.text();
  EXPECT_GE(std::stoi(most[0]), 1);
  EXPECT_LE(std::stoi(most[0]), capacity);
}

/// The whole story, turn by turn, of the first, second or third order of turns.
Arguments story(int number) {
  const auto result = run("condition_variable", {"--aloud"});
  const auto lines = result.captures("^([PC] (?:waits|has acted, \\d+ in the buffer))$");
  const int begin[] = {0, 40, 81, 141};  // 20 puts, 20 takes, and 0, 1 and 20 waits
  if (lines.size() != 141U) return {result.text()};
  return {lines.begin() + begin[number - 1], lines.begin() + begin[number]};
}

std::string acted(char who, int length) {
  return std::string(1, who) + " has acted, " + std::to_string(length) + " in the buffer";
}

TEST(condition_variable, a_consumer_half_as_fast_fills_the_buffer_and_empties_it_at_last) {
  Arguments expected = {acted('P', 1), acted('C', 0)};
  for (int k = 1; k <= 9; ++k) {
    expected.insert(expected.end(), {acted('P', k), acted('P', k + 1), acted('C', k)});
  }
  expected.push_back(acted('P', 10));
  for (int left = 9; left >= 0; --left) expected.push_back(acted('C', left));
  EXPECT_EQ(story(1), expected);
}

TEST(condition_variable, a_producer_that_comes_first_finds_the_buffer_full_once) {
  Arguments expected = {acted('P', 1)};
  for (int k = 1; k <= 9; ++k) {
    expected.insert(expected.end(), {acted('P', k + 1), acted('C', k), acted('P', k + 1)});
  }
  expected.insert(expected.end(), {"P waits", acted('C', 9), acted('P', 10)});
  for (int left = 9; left >= 0; --left) expected.push_back(acted('C', left));
  EXPECT_EQ(story(2), expected);
}

TEST(condition_variable, a_consumer_twice_as_fast_waits_for_each_item) {
  Arguments expected;
  for (int i = 0; i < 20; ++i) expected.insert(expected.end(), {"C waits", acted('P', 1), acted('C', 0)});
  EXPECT_EQ(story(3), expected);
}

TEST(condition_variable, counts_match_for_any_number_of_threads_places_and_items) {
  for (const auto& [producers, consumers] : {std::pair(1, 1), {2, 2}, {1, 5}, {5, 1}}) {
    for (const auto& [items, capacity] : {std::pair(1, 1), {20, 10}, {2000, 1}, {2000, 3}}) {
      const auto result =
          run("condition_variable",
              at_once({"--producers", std::to_string(producers), "--consumers", std::to_string(consumers), "--items",
                       std::to_string(items), "--capacity", std::to_string(capacity)}));
      expect_balanced(result, items, capacity);
    }
  }
}

TEST(condition_variable, never_takes_from_an_empty_list_when_the_producer_is_slow) {
  const auto result = run("condition_variable", {"--produce-ms", "2", "--consume-ms", "0", "--consumers", "3"});
  expect_balanced(result, 20, 10);
  EXPECT_TRUE(result.has_line("ok    waits, producer half as fast: 20")) << result.text();
}

TEST(condition_variable, does_not_remember_wakes_for_nothing_and_gives_up_one_level) {
  const auto result = run("condition_variable");
  EXPECT_TRUE(result.has_line("ok    a notification is remembered: false")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a waiter woken for nothing waits on: true")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a recursive lock taken once is free during a wait: true")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a recursive lock taken twice is free during a wait: false")) << result.text();
}

TEST(condition_variable, a_condition_tested_once_lets_a_second_consumer_at_the_empty_list) {
  const auto result = run("condition_variable_if");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_EQ(result.lines_with("^consumer [12] takes item 7$").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^consumer [12] takes from an empty list$").size(), 1U) << result.text();
}

TEST(condition_variable, ends_at_once_when_interrupted_in_a_wait) {
  test_support::Setting setting;
  setting.interrupt_after_ms = 200;
  setting.limit = std::chrono::seconds(5);
  const auto result = run("condition_variable", {"--produce-ms", "10000"}, setting);
  EXPECT_EQ(result.exit_code, -2) << result.text();  // by SIGINT
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace

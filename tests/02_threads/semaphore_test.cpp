// Semaphore: the program seen from outside. Catalogue: 2.C5, 2.6, 2.C6.

#include "support/run.hpp"

namespace {

using test_support::run;
using Lines = std::vector<std::string>;

/// The lines about items, in order, each in one word and its number, such as "produced 436".
Lines hand_overs(const test_support::Result& result) {
  return result.captures("^(?:consumer )?((?:waits for item|produced item|consumed item) \\d+)$");
}

int number_in(const std::string& line) { return std::stoi(line.substr(line.rfind(' ') + 1)); }

TEST(semaphore, decrement_and_test_apart_stop_both_threads_though_a_permit_is_free) {
  const auto result = run("semaphore");
  ASSERT_GE(result.out.size(), 10U) << result.text();
  const Lines torn(result.out.begin(), result.out.begin() + 5);
  EXPECT_EQ(torn, (Lines{"thread 1 decrements to 0", "thread 2 decrements to -1", "thread 2 tests -1 and waits",
                         "thread 1 tests -1 and waits", "ok    two steps: going on, waiting, value: [0, 2, -1]"}));
  const Lines whole(result.out.begin() + 5, result.out.begin() + 10);
  EXPECT_EQ(whole, (Lines{"thread 1 decrements to 0", "thread 1 tests 0 and goes on", "thread 2 decrements to -1",
                          "thread 2 tests -1 and waits", "ok    one step: going on, waiting, value: [1, 1, -1]"}));
  EXPECT_TRUE(result.has_line("ok    orders, of 6, in which nobody goes on: 4")) << result.text();
}

TEST(semaphore, each_round_waits_then_produces_then_consumes_the_same_item) {
  for (const int rounds : {1, 200}) {
    const auto result = run("semaphore", {"--rounds", std::to_string(rounds), "--delay-ms", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const Lines lines = hand_overs(result);
    ASSERT_EQ(lines.size(), 3U * static_cast<unsigned>(rounds)) << result.text();
    for (unsigned i = 0; i < lines.size(); i += 3) {
      EXPECT_EQ(lines[i], "waits for item " + std::to_string(i / 3 + 1));
      const int item = number_in(lines[i + 1]);
      EXPECT_TRUE(0 <= item && item <= 1000) << item;
      EXPECT_EQ(lines[i + 1], "produced item " + std::to_string(item));
      EXPECT_EQ(lines[i + 2], "consumed item " + std::to_string(item));
    }
    EXPECT_TRUE(result.has_line("ok    permits left after the rounds: 0")) << result.text();
  }
}

TEST(semaphore, items_repeat_with_their_seed_and_change_with_another) {
  const auto items = [](const char* seed) { return hand_overs(run("semaphore", {"--seed", seed})); };
  const Lines first = items("7");
  EXPECT_EQ(first.size(), 15U);
  EXPECT_EQ(first, items("7"));
  EXPECT_NE(first, items("8"));
}

TEST(semaphore, is_a_lock_if_it_starts_at_one) {
  for (const long changes : {1L, 1'000'000L}) {
    const auto result = run("semaphore", {"--changes", std::to_string(changes)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    counter of two threads under a semaphore: " + std::to_string(2 * changes)));
  }
}

TEST(semaphore, grants_as_many_as_it_has_permits_and_refuses_a_negative_number) {
  const auto result = run("semaphore");
  EXPECT_TRUE(result.has_line("ok    granted at once, of 5 attempts on 3 permits: 3")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a start below 0 is refused: true")) << result.text();
}

TEST(semaphore, states_the_cost_of_waiting_beside_the_library) {
  const auto result = run("semaphore");
  EXPECT_EQ(result.lines_with("^(two processors|one processor), .* us .* x$").size(), 6U) << result.text();
  EXPECT_EQ(result.lines_with("^(std::counting_semaphore|Semaphore|std::mutex) .* ns ").size(), 3U) << result.text();
}

TEST(semaphore, ends_at_once_when_interrupted) {
  test_support::Setting setting;
  setting.interrupt_after_ms = 200;
  setting.limit = std::chrono::seconds(5);
  const auto result = run("semaphore", {"--delay-ms", "10000"}, setting);
  EXPECT_EQ(result.exit_code, -2) << result.text();  // by SIGINT
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace

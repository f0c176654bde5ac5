// Thread by class: the program seen from outside. Catalogue: 2.3.

#include <algorithm>

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;
using testing::ElementsAre;

using Lines = std::vector<std::string>;

/// The lines of one of the three rounds, without its checks.
Lines round(const Result& result, const std::string& heading) {
  const auto first = std::find(result.out.begin(), result.out.end(), heading);
  const auto last = std::find_if(first, result.out.end(), [](const auto& line) { return line.starts_with("ok "); });
  return first == result.out.end() ? Lines{} : Lines(first + 1, last);
}

long place_of(const Lines& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) - lines.begin();
}

/// The times in ms at which a timer ticked.
std::vector<long> ticks(const Lines& lines, const std::string& name) {
  Result part;
  part.out = lines;
  std::vector<long> times;
  for (const std::string& time : part.captures("^" + name + ": tick \\d+ after (\\d+) ms$")) {
    times.push_back(std::stol(time));
  }
  return times;
}

constexpr char to_the_end[] = "Both timers tick to their end:";
constexpr char stopped[] = "Both are stopped after their first tick:";
constexpr char failing[] = "Thread-1 fails at its second tick:";

TEST(thread_class, five_ticks_each_at_least_a_period_apart) {
  for (const long period : {1L, 10L, 25L}) {
    const auto result = run("thread_class", {"--period-ms", std::to_string(period)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    for (const long factor : {1L, 2L}) {
      const auto times = ticks(round(result, to_the_end), "Thread-" + std::to_string(factor));
      ASSERT_EQ(times.size(), 5U) << result.text();
      EXPECT_GE(times[0], factor * period);
      for (std::size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i] - times[i - 1], factor * period);
    }
  }
}

TEST(thread_class, thread_1_exits_first_and_main_last_when_joined) {
  const auto result = run("thread_class", {"--period-ms", "60"});
  const Lines lines = round(result, to_the_end);
  ASSERT_FALSE(lines.empty()) << result.text();
  EXPECT_LT(place_of(lines, "Exiting Thread-1"), place_of(lines, "Exiting Thread-2")) << result.text();
  EXPECT_EQ(lines.back(), "Exiting main thread") << result.text();
}

TEST(thread_class, a_stop_after_the_first_tick_leaves_one_tick_and_main_does_not_wait) {
  const auto result = run("thread_class");
  const Lines lines = round(result, stopped);
  EXPECT_EQ(ticks(lines, "Thread-1").size(), 1U) << result.text();
  EXPECT_EQ(ticks(lines, "Thread-2").size(), 1U) << result.text();
  const long main_line = place_of(lines, "Exiting main thread");
  ASSERT_LT(main_line, static_cast<long>(lines.size())) << result.text();
  EXPECT_LT(main_line, place_of(lines, "Exiting Thread-1")) << result.text();
  EXPECT_LT(main_line, place_of(lines, "Exiting Thread-2")) << result.text();
}

TEST(thread_class, an_exception_reaches_the_owner_and_leaves_the_other_timer_alone) {
  const auto result = run("thread_class");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const Lines lines = round(result, failing);
  EXPECT_EQ(ticks(lines, "Thread-1").size(), 2U) << result.text();
  EXPECT_EQ(ticks(lines, "Thread-2").size(), 5U) << result.text();
  EXPECT_THAT(result.captures("^ok    what the owner of Thread-1 caught: (.*)$"), ElementsAre("no second tick today"));
}

TEST(thread_class, ctrl_c_ends_it_at_once) {
  const auto result = run("thread_class", {"--period-ms", "10000"}, {.interrupt_after_ms = 200});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace

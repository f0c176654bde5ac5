// A first thread: the program seen from outside. Catalogue: 1.12, 1.C31.

#include <algorithm>
#include <chrono>
#include <ranges>
#include <regex>

#include "support/run.hpp"

namespace {

using test_support::run;

const std::string greeting = "Hello Parallel C++ CookBook!!";

/// The lines of one of the two parts, without their times: who says what.
std::vector<std::string> part(const test_support::Result& result, const std::string& heading) {
  std::vector<std::string> lines;
  const std::regex line("^ *\\d+ ms +(\\w+) +(.*)$");
  std::smatch match;
  auto at = std::ranges::find(result.out, heading);
  if (at == result.out.end()) return lines;
  while (++at != result.out.end() && std::regex_match(*at, match, line)) {
    lines.push_back(match[1].str() + ": " + match[2].str());
  }
  return lines;
}

std::vector<std::string> called(const test_support::Result& result) {
  return part(result, "greet() called as a function:");
}
std::vector<std::string> in_a_thread(const test_support::Result& result) {
  return part(result, "greet() run by a thread:");
}

TEST(first_thread, a_call_keeps_main_waiting) {
  for (const int greetings : {1, 10}) {
    const auto result =
        run("first_thread", {"--pause-ms", "1", "--work-ms", "1", "--greetings", std::to_string(greetings)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    std::vector<std::string> expected(greetings, "main: " + greeting);
    expected.insert(expected.end(), {"main: begins its own work", "main: has done its own work"});
    EXPECT_EQ(called(result), expected) << result.text();
  }
}

TEST(first_thread, main_goes_on_while_the_thread_greets_ten_times) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("first_thread", {"--pause-ms", "100", "--greetings", "10"});
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2 * 10 * 100));
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const auto lines = in_a_thread(result);
  EXPECT_EQ(std::ranges::count(lines, "thread: " + greeting), 10) << result.text();
  // main did its work during the second for which the thread greeted: it did not wait.
  const auto done = std::ranges::find(lines, "main: has done its own work");
  EXPECT_LT(done, std::ranges::find(lines | std::views::reverse, "thread: " + greeting).base() - 1) << result.text();
  EXPECT_EQ(lines.back(), "main: join() has returned") << result.text();
  EXPECT_EQ(lines.size(), 13U) << result.text();
}

TEST(first_thread, the_checks_come_after_the_end_of_the_thread) {
  for (const std::string greetings : {"1", "25"}) {
    const auto result = run("first_thread", {"--pause-ms", "1", "--work-ms", "0", "--greetings", greetings});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(in_a_thread(result).size(), 3 + std::stoul(greetings)) << result.text();
    EXPECT_TRUE(result.has_line("ok    greetings from main, by the call: " + greetings)) << result.text();
    EXPECT_TRUE(result.has_line("ok    greetings of the thread, after join(): " + greetings)) << result.text();
    EXPECT_TRUE(result.has_line("ok    of the thread's greetings, from main: 0")) << result.text();
    // Two headings, 2 n + 5 lines, three checks.
    EXPECT_EQ(result.out.size(), 2U + 2 * std::stoul(greetings) + 5 + 3) << result.text();
  }
  // A sleep that is as long as all pauses, in place of join(), would end too early here.
  EXPECT_EQ(run("first_thread", {"--pause-ms", "0", "--work-ms", "0", "--greetings", "10000"}).exit_code, 0);
}

TEST(first_thread, a_pause_follows_each_greeting) {
  const auto result = run("first_thread", {"--pause-ms", "20"});
  // In each part: three greetings, and main's line after the last pause.
  const auto called = result.captures("^ *(\\d+) ms +main +(?:Hello .*|begins its own work)$"),
             in_a_thread = result.captures("^ *(\\d+) ms +(?:thread +Hello .*|main +join\\(\\) has returned)$");
  ASSERT_EQ(called.size(), 5U) << result.text();  // the last one is of the other part
  ASSERT_EQ(in_a_thread.size(), 4U) << result.text();
  for (const auto& times : {called, in_a_thread}) {
    for (int i = 1; i < 4; ++i) EXPECT_GE(std::stoi(times[i]), std::stoi(times[i - 1]) + 19) << result.text();
  }
}

TEST(first_thread, the_own_work_takes_as_long_as_it_was_told) {
  const auto result = run("first_thread", {"--pause-ms", "1", "--work-ms", "60"});
  const auto begins = result.captures("^ *(\\d+) ms +main +begins its own work$"),
             done = result.captures("^ *(\\d+) ms +main +has done its own work$");
  ASSERT_EQ(begins.size(), 2U) << result.text();
  ASSERT_EQ(done.size(), 2U) << result.text();
  for (int part : {0, 1}) EXPECT_GE(std::stoi(done[part]), std::stoi(begins[part]) + 59) << result.text();
}

TEST(first_thread_unjoined, ends_the_whole_program) {
  const auto result = run("first_thread_unjoined");
  EXPECT_EQ(result.exit_code, -6) << result.text();  // SIGABRT
  EXPECT_TRUE(result.has_line("Process Ended")) << result.text();
  EXPECT_LT(std::ranges::count(result.out, greeting), 10) << result.text();
}

TEST(first_thread_detached, ends_with_main) {
  // ThreadSanitizer would let the other threads go on for a second after main has returned.
  const auto result = run("first_thread_detached", {}, {.environment = {{"TSAN_OPTIONS", "atexit_sleep_ms=0"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_LT(std::ranges::count(result.out, greeting), 10) << result.text();
}

}  // namespace

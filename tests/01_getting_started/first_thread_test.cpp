// A first thread: the program seen from outside. Catalogue: 1.12, 1.C31.

#include <algorithm>
#include <chrono>

#include "support/run.hpp"

namespace {

using test_support::run;

const std::string greeting = "Hello Parallel C++ CookBook!!";

/// Where `line` stands in the output.
long place(const test_support::Result& result, const std::string& line) {
  return std::ranges::find(result.out, line) - result.out.begin();
}

TEST(first_thread, ten_greetings_with_pauses_and_main_is_done_first) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("first_thread", {"--pause-ms", "100"});
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(10 * 100));
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(std::ranges::count(result.out, greeting), 10) << result.text();
  EXPECT_EQ(result.out.front(), "Process Started");
  EXPECT_LT(place(result, "Thread Starting"), place(result, greeting)) << result.text();
  // main printed its last line during the second for which the thread greeted: it did not wait.
  EXPECT_LT(place(result, "Process Ended"), place(result, "Thread Ended")) << result.text();
}

TEST(first_thread, the_checks_come_after_the_end_of_the_thread) {
  for (const std::string greetings : {"0", "1", "25"}) {
    const auto result = run("first_thread", {"--pause-ms", "1", "--greetings", greetings});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(std::ranges::count(result.out, greeting), std::stol(greetings)) << result.text();
    EXPECT_TRUE(result.has_line("ok    greetings: " + greetings)) << result.text();
    // Two lines of main, two of the thread and the greetings come before the three checks.
    EXPECT_EQ(result.out.size(), 4U + std::stoul(greetings) + 3) << result.text();
    EXPECT_LT(place(result, "Thread Ended"), place(result, "ok    the thread's first line: Thread Starting"));
  }
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

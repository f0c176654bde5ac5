// A first thread: the program seen from outside. Catalogue: 1.12, 1.C31.

#include <algorithm>

#include "support/run.hpp"

namespace {

using test_support::run;

const std::string greeting = "Hello Parallel C++ CookBook!!";

/// Where `line` stands in the output.
long place(const test_support::Result& result, const std::string& line) {
  return std::ranges::find(result.out, line) - result.out.begin();
}

void expect_order(const test_support::Result& result, long greetings) {
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(std::ranges::count(result.out, greeting), greetings) << result.text();
  EXPECT_EQ(result.out.front(), "Process Started");
  EXPECT_LT(place(result, "Thread Starting"), place(result, greeting));
  EXPECT_LT(place(result, "Process Ended"), place(result, "Thread Ended"));
  // All lines before the checks: two of main, two of the thread, the greetings. The thread's end line is the last.
  EXPECT_EQ(place(result, "Thread Ended"), greetings + 3) << result.text();
}

TEST(first_thread, ten_greetings_between_start_and_end) { expect_order(run("first_thread"), 10); }

TEST(first_thread, any_pause_and_any_number_of_greetings) {
  for (const std::string delay : {"0", "1", "10"}) {
    for (const long greetings : {0L, 1L, 10L, 25L}) {
      expect_order(run("first_thread", {"--delay-ms", delay, "--greetings", std::to_string(greetings)}), greetings);
    }
  }
}

TEST(first_thread, the_pauses_are_taken) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("first_thread", {"--delay-ms", "30", "--greetings", "10"});
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(300)) << result.text();
  EXPECT_TRUE(result.has_line("ok    the thread took its pauses: yes"));
}

TEST(first_thread, a_jthread_joins_at_the_end_of_its_block) {
  EXPECT_TRUE(run("first_thread", {"--delay-ms", "0"})
                  .has_line("ok    what a thread did by the end of the block of its jthread: all"));
}

TEST(first_thread, an_unjoined_thread_ends_the_program) {
  const auto result = run("first_thread_unjoined");
  EXPECT_EQ(result.exit_code, -6) << result.text();
  EXPECT_FALSE(result.has_line("Thread Ended")) << result.text();
}

TEST(first_thread, a_detached_thread_ends_with_main) {
  const auto result = run("first_thread_unjoined", {"--way", "detached"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("Process Ended")) << result.text();
  EXPECT_LT(std::ranges::count(result.out, greeting), 10) << result.text();
  EXPECT_FALSE(result.has_line("Thread Ended")) << result.text();
}

TEST(first_thread, ctrl_c_ends_it) {
  EXPECT_EQ(run("first_thread", {"--delay-ms", "5000"}, {.interrupt_after_ms = 200}).exit_code, -2);
}

}  // namespace

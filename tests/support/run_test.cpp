// The runner that every recipe's test uses must itself be trusted.

#include "support/run.hpp"

#include <signal.h>

namespace {

using namespace std::chrono_literals;
using test_support::run;

TEST(run, gives_exit_code_and_both_outputs) {
  const auto result = run("run_test_child", {"echo", "hello"}, {.environment = {{"ODD_VARIABLE", "value"}}});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_TRUE(result.has_line("out hello")) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("err value"));
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(run, gives_the_signal_that_ended_a_program) { EXPECT_EQ(run("run_test_child", {"abort"}).exit_code, -SIGABRT); }

TEST(run, kills_a_program_at_the_limit) {
  const auto result = run("run_test_child", {"wait"}, {.limit = 200ms});
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.exit_code, -SIGKILL);
  EXPECT_TRUE(result.has_line("waiting"));
}

TEST(run, kills_children_that_left_the_process_group) {
  const auto result = run("run_test_child", {"family"}, {.limit = 200ms});
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.leaked_processes, 1);
}

TEST(run, finds_and_kills_an_orphan) {
  const auto result = run("run_test_child", {"orphan"}, {.limit = 5s});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_FALSE(result.timed_out) << "the orphan holds the pipe open, and the runner must not wait for it";
  EXPECT_EQ(result.leaked_processes, 1);
}

TEST(run, interrupts_as_a_terminal_does) {
  const auto result = run("run_test_child", {"wait"}, {.limit = 5s, .interrupt_after_ms = 100});
  EXPECT_EQ(result.exit_code, -SIGINT);
}

TEST(run, reads_more_than_a_pipe_holds) { EXPECT_EQ(run("run_test_child", {"much"}).out.size(), 100'000U); }

TEST(run, captures_from_lines) {
  EXPECT_EQ(run("run_test_child", {"much"}).captures("^line (99998|99999)$"),
            (std::vector<std::string>{"99998", "99999"}));
}

TEST(run, says_that_a_program_does_not_exist) { EXPECT_THROW(run("no_such_program"), std::system_error); }

}  // namespace

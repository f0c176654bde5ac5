// Kill a process: the program seen from outside. Catalogue: 3.5.

#include "support/run.hpp"

namespace {

using test_support::run;
using testing::Contains;
using testing::ElementsAre;

TEST(kill_process, alive_and_exit_code_follow_the_life_of_the_child) {
  const auto result = run("kill_process");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const std::string state = "alive (?:true|false) +exit code (.*)$";
  EXPECT_THAT(result.captures("^Process .*" + state), ElementsAre("none yet", "none yet", "none yet", "-15"));
  EXPECT_THAT(result.captures("^Process (?:before execution|running|joined): +alive (true|false)"),
              ElementsAre("false", "true", "false"));
  EXPECT_EQ(result.lines_with("^Process terminated: +alive (true|false)").size(), 1U) << result.text();
  EXPECT_TRUE(result.has_line("ok    exit code: -15"));
  EXPECT_TRUE(result.has_line("ok    exit codes of return 0, return 3, SIGTERM, SIGKILL: [0, 3, -15, -9]"));

  EXPECT_THAT(result.out, Contains("Starting function"));
  EXPECT_TRUE(result.lines_with("Finished function").empty()) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

TEST(kill_process, who_listens_cleans_up_and_who_does_not_is_killed) {
  for (const std::string grace : {"0", "200"}) {
    const auto result = run("kill_process", {"--grace-ms", grace});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::size_t ways = result.lines_with("^No pidfd").empty() ? 2 : 1;
    const std::vector<std::string> polite(ways, "0"), stubborn(ways, "-9");
    EXPECT_EQ(result.captures("^ok    exit code of a child that listens: (.*)$"), polite);
    EXPECT_EQ(result.captures("^ok    exit code of a child that does not: (.*)$"), stubborn);
    EXPECT_EQ(result.lines_with("^Told to end").size(), ways);
    EXPECT_EQ(result.lines_with("^ok    a signal after the join: No such process$").size(), ways - 1);
    EXPECT_TRUE(result.lines_with("Finished function").empty()) << result.text();
  }
}

TEST(kill_process, its_end_leaves_no_child_behind_not_even_one_that_ignores_signals) {
  const auto interrupted = run("kill_process", {"--grace-ms", "60000"}, {.interrupt_after_ms = 300});
  EXPECT_EQ(interrupted.exit_code, -2) << interrupted.text();
  EXPECT_EQ(interrupted.left_behind, 0);
  const auto killed = run("kill_process", {"--grace-ms", "60000"}, {.kill_after_ms = 300});
  EXPECT_EQ(killed.exit_code, -9) << killed.text();
  EXPECT_EQ(killed.left_behind, 0);
}

}  // namespace

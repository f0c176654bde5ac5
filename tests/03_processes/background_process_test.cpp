// Background processes: the program seen from outside. Catalogue: 3.4.

#include <algorithm>

#include "support/run.hpp"

namespace {

using test_support::run;
using testing::ElementsAre;

/// The lines of the source's program come first.
std::vector<std::string> first_lines(const test_support::Result& result, std::size_t count) {
  return {result.out.begin(), result.out.begin() + static_cast<long>(std::min(count, result.out.size()))};
}

TEST(background_process, the_daemon_is_ended_and_the_other_is_waited_for) {
  for (const char* delay : {"1", "30"}) {
    const auto result = run("background_process", {"--delay-ms", delay});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.left_behind, 0) << result.text();
    EXPECT_THAT(first_lines(result, 4), ElementsAre("Starting background_process", "Starting NO_background_process",
                                                    "Exiting NO_background_process",
                                                    "ok    exit codes of daemon and other, main done first: [-15, 0]"))
        << result.text();
  }
}

TEST(background_process, a_daemon_that_is_done_before_main_exits_by_itself) {
  const auto result = run("background_process", {"--delay-ms", "1"});
  EXPECT_EQ(result.lines_with("^Exiting background_process$").size(), 1U) << result.text();
  EXPECT_TRUE(result.has_line("ok    exit code of the daemon, done before main: [0]")) << result.text();
}

TEST(background_process, the_kernel_ends_the_daemon_of_a_main_that_does_not) {
  const auto result = run("background_process", {"--delay-ms", "1"});
  EXPECT_TRUE(result.has_line("ok    main returns and forgets its daemon; exit codes: [0, -15]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    main is killed; exit codes: [-9, -15]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    its daemon asked too late; exit codes: [-9, -15]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    its child did not ask; exit codes: [-9, 7]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    no child is left: true")) << result.text();
}

TEST(background_process, a_daemon_may_not_have_children) {
  const auto result = run("background_process", {"--delay-ms", "1"});
  const std::string refused = "A daemon that wants a child: daemonic processes are not allowed to have children";
  EXPECT_THAT(result.lines_with("^A daemon that wants"), ElementsAre(refused, refused));
  EXPECT_TRUE(result.has_line("ok    children refused to a daemon: 2")) << result.text();
}

TEST(background_process, killed_or_interrupted_it_leaves_nothing_behind) {
  // Both children are at work then: the other one serves for 10 s, and the daemon for a minute.
  const auto killed = run("background_process", {"--delay-ms", "10000"}, {.kill_after_ms = 100});
  EXPECT_EQ(killed.exit_code, -9) << killed.text();
  EXPECT_EQ(killed.left_behind, 0);
  EXPECT_TRUE(killed.lines_with("^Exiting").empty()) << killed.text();
  const auto interrupted = run("background_process", {"--delay-ms", "10000"}, {.interrupt_after_ms = 100});
  EXPECT_EQ(interrupted.exit_code, -2) << interrupted.text();
  EXPECT_EQ(interrupted.left_behind, 0);
}

}  // namespace

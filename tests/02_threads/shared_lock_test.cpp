// Shared lock: the program seen from outside. Beyond the catalogue: many readers or one writer.

#include "support/run.hpp"

namespace {

using test_support::run;

/// Runs the checks, and measures nothing.
test_support::Result check(std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.end(), {"--window-ms", "0"});
  return run("shared_lock", arguments);
}

TEST(shared_lock, all_readers_are_in_at_once_and_only_one_in_a_mutex) {
  for (const std::string threads : {"1", "2", "3", "8", "50"}) {
    const auto result = check({"--threads", threads, "--hundreds", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    readers in a mutex at once: 1")) << result.text();
    EXPECT_TRUE(result.has_line("ok    readers in a shared_mutex at once: " + threads)) << result.text();
  }
}

TEST(shared_lock, a_writer_is_alone) {
  const auto result = check();
  EXPECT_TRUE(result.has_line("ok    while one reads, another gets in to read: true")) << result.text();
  EXPECT_TRUE(result.has_line("ok    while one reads, another gets in to write: false")) << result.text();
  EXPECT_TRUE(result.has_line("ok    while one writes, another gets in to read: false")) << result.text();
  EXPECT_TRUE(result.has_line("ok    while one writes, another gets in to write: false")) << result.text();
}

TEST(shared_lock, no_reader_sees_half_a_rewrite_and_no_rewrite_is_lost) {
  for (const long hundreds : {1L, 7L, 500L}) {
    for (const std::string threads : {"1", "2", "5"}) {
      const auto result = check({"--hundreds", std::to_string(hundreds), "--threads", threads});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      for (const std::string lock : {"mutex", "shared_mutex"}) {
        EXPECT_TRUE(result.has_line("ok    tables seen half rewritten, " + lock + ": 0")) << result.text();
        EXPECT_TRUE(result.has_line("ok    rewrites, " + lock + ": " + std::to_string(61 * hundreds))) << result.text();
      }
    }
  }
}

TEST(shared_lock, both_tables_have_every_share_of_reads_with_both_locks) {
  const auto result = run("shared_lock", {"--window-ms", "1", "--numbers", "64"});
  EXPECT_EQ(result.lines_with("^Short work: 2 numbers +median +lowest +highest").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^Long work: 64 numbers +median +lowest +highest").size(), 1U) << result.text();
  for (const std::string reads : {" 50", " 90", " 99", "100"}) {
    EXPECT_EQ(result.lines_with("^" + reads + " % reads, mutex .*M/s").size(), 2U) << result.text();
    EXPECT_EQ(result.lines_with("^" + reads + " % reads, shared_mutex .*M/s").size(), 2U) << result.text();
  }
  EXPECT_EQ(result.lines_with("^100 % reads, no lock .* 100 %$").size(), 2U) << result.text();
  EXPECT_EQ(
      result.lines_with("^shared_mutex against mutex: .* x at 50 %, .* x at 90 %, .* x at 99 %, .* x at 100 %$").size(),
      2U)
      << result.text();
}

TEST(shared_lock, a_failed_check_leaves_out_the_speeds) {
  const auto result = run("shared_lock", {"--hundreds", "1"}, {.environment = {{"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.lines_with("M/s").empty()) << result.text();
}

TEST(shared_lock, an_interrupt_ends_it_while_it_measures) {
  const auto result = run("shared_lock", {"--window-ms", "10000", "--hundreds", "1"}, {.interrupt_after_ms = 500});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace

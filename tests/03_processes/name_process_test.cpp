// Name processes: the program seen from outside. Catalogue: 3.3.

#include <algorithm>
#include <filesystem>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

using Lines = std::vector<std::string>;

/// The lines between two others.
Result between(const Result& result, const std::string& first, const std::string& last) {
  Result part;
  auto line = std::find(result.out.begin(), result.out.end(), first);
  if (line != result.out.end()) ++line;
  for (; line != result.out.end() && !line->starts_with(last); ++line) part.out.push_back(*line);
  return part;
}

TEST(name_process, each_name_starts_and_exits_once_at_the_same_time_if_both_are_joined) {
  for (const char* delay : {"1", "20"}) {
    const auto result = run("name_process", {"--delay-ms", delay});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.left_behind, 0);
    const Result joined = between(result, "Both joined:", "two processes");
    EXPECT_THAT(joined.captures("^Starting (.*)$"), UnorderedElementsAre("foo_process", "Process-2"));
    EXPECT_THAT(joined.captures("^Exiting (.*)$"), UnorderedElementsAre("foo_process", "Process-2"));
    const auto words = joined.captures("^(Starting|Exiting) ");
    EXPECT_TRUE(std::is_sorted(words.rbegin(), words.rend())) << "one after another\n" << result.text();
    const auto took_ms = result.captures("^two processes of \\d+ ms took (\\d+) ms$");
    ASSERT_EQ(took_ms.size(), 1U) << result.text();
    EXPECT_GE(std::stol(took_ms[0]), std::stol(delay));

    const Result daemon = between(result, "The first is a daemon:", "ok ");
    EXPECT_THAT(daemon.captures("^Starting (.*)$"), UnorderedElementsAre("foo_process", "Process-2"));
    EXPECT_THAT(daemon.captures("^Exiting (.*)$"), ElementsAre("Process-2"));
    EXPECT_THAT(result.captures("^ok    exit codes: (.*)$"), ElementsAre("[0, 0]", "[-15, 0]"));
  }
}

TEST(name_process, the_names_are_seen_inside_in_proc_and_not_by_the_parent) {
  const auto result = run("name_process", {"--delay-ms", "1"});
  const std::string both = R"(["foo_process", "Process-2"])";
  for (const char* what : {"names", "names seen inside", "short names in /proc", "command lines in /proc"}) {
    EXPECT_TRUE(result.has_line("ok    " + std::string(what) + ": " + both)) << result.text();
  }
  EXPECT_TRUE(result.has_line(R"(ok    the parent's own names: ["MainProcess", "name_process"])")) << result.text();
  EXPECT_EQ(result.lines_with(R"(: \["sixteen_letters", "sixteen_letters!"\]$)").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with(R"(: \["name_process_ch", "foo_process", "foo_process"\]$)").size(), 1U) << result.text();
}

TEST(name_process, ps_shows_the_names) {
  const std::string script = test_support::bin() +
                             "/name_process --delay-ms 10000 >/dev/null & for i in $(seq 500); do "
                             "seen=$(ps --ppid $! -o comm= -o args= | tr -s ' ' | LC_ALL=C sort | tr '\\n' ';'); "
                             "case $seen in 'Process-2 Process-2'*'foo_process foo_process'*) "
                             "echo seen; break;; esac; sleep 0.01; done; kill $!";
  const auto result = run("/bin/sh", {"-c", script});
  EXPECT_THAT(result.out, ElementsAre("seen")) << result.text();
}

TEST(name_process, a_command_line_with_too_little_room_is_cut) {
  const test_support::Folder folder;
  for (const char* program : {"name_process", "name_process_child"}) {
    std::filesystem::create_symlink(test_support::bin() + "/" + program, folder.path / program);
  }
  std::filesystem::create_symlink("name_process", folder.path / "np");
  const auto result = run("/bin/sh", {"-c", "cd " + folder.path.string() + "; exec ./np"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line(R"(ok    short names in /proc: ["foo_process", "Process-2"])")) << result.text();
  EXPECT_TRUE(result.has_line(R"(ok    command lines in /proc: ["foo_", "Proc"])")) << result.text();
}

TEST(name_process, killed_or_interrupted_it_leaves_nothing_behind) {
  const auto killed = run("name_process", {"--delay-ms", "10000"}, {.kill_after_ms = 50});
  EXPECT_EQ(killed.exit_code, -9) << killed.text();
  EXPECT_EQ(killed.left_behind, 0);
  const auto interrupted = run("name_process", {"--delay-ms", "10000"}, {.interrupt_after_ms = 50});
  EXPECT_EQ(interrupted.exit_code, -2) << interrupted.text();
  EXPECT_EQ(interrupted.left_behind, 0);
}

}  // namespace

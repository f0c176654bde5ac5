// Spawn processes: the program seen from outside. Catalogue: 3.C1, 3.1, 3.2.

#include <algorithm>
#include <filesystem>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;
using testing::ElementsAre;
using testing::EndsWith;
using testing::StartsWith;

using Lines = std::vector<std::string>;

/// The lines that the children of one round said.
Lines round(const Result& result, const std::string& heading) {
  const auto first = std::find(result.out.begin(), result.out.end(), heading);
  const auto last = std::find_if(first, result.out.end(), [](const auto& line) { return line.starts_with("ok "); });
  return first == result.out.end() ? Lines{} : Lines(first + 1, last);
}

Lines sorted(Lines lines) {
  std::ranges::sort(lines);
  return lines;
}

TEST(spawn_process, five_children_in_order_when_joined_at_once_and_in_any_order_when_joined_later) {
  const Lines five = {"called function in process: 0", "called function in process: 1", "called function in process: 2",
                      "called function in process: 3", "called function in process: 4"};
  const auto result = run("spawn_process", {"--mebibytes", "4"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.left_behind, 0);
  for (const std::string way : {"fork", "posix_spawn"}) {  // the same output by both, byte for byte
    EXPECT_EQ(round(result, "By " + way + ", joined at once:"), five) << result.text();
    EXPECT_EQ(sorted(round(result, "By " + way + ", joined when all are started:")), five) << result.text();
  }
  EXPECT_THAT(result.captures("^ok    child processes, and how many at a time: (.*)"),
              ElementsAre("[5, 1]", "[5, 5]", "[5, 1]", "[5, 5]"));
  EXPECT_THAT(result.captures("^ok    exit codes: (.*)"), testing::Each("[0, 0, 0, 0, 0]"));
  EXPECT_TRUE(result.has_line("ok    state of a child that ended, before and after its join: [\"Z\", \"none\"]"));
  EXPECT_TRUE(result.has_line("ok    a child raised 41: global, shared, by message: [41, 42, 42]"));
  EXPECT_TRUE(result.has_line("ok    children left: 0"));
  EXPECT_THAT(result.captures("^ *(\\d+ MiB in use: \\w+) .*us.*%$"),
              ElementsAre("0 MiB in use: posix_spawn", "0 MiB in use: fork", "1 MiB in use: posix_spawn",
                          "1 MiB in use: fork", "4 MiB in use: posix_spawn", "4 MiB in use: fork"));
}

TEST(spawn_process, any_number_of_children) {
  for (const int count : {1, 100}) {
    const auto result = run("spawn_process", {"--children", std::to_string(count), "--mebibytes", "0"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.left_behind, 0);
    Lines expected;
    for (int id = 0; id < count; ++id) expected.push_back("called function in process: " + std::to_string(id));
    EXPECT_EQ(round(result, "By posix_spawn, joined at once:"), expected) << result.text();
    EXPECT_EQ(sorted(round(result, "By fork, joined when all are started:")), sorted(expected)) << result.text();
  }
}

TEST(spawn_process, the_child_program_takes_a_number_and_starts_nothing) {
  const auto result = run("spawn_process_child", {"3"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, ElementsAre("called function in process: 3"));
  EXPECT_EQ(result.left_behind, 0);
  for (const Lines& wrong : {Lines{}, {""}, {"x"}, {"1x"}, {"1", "2"}, {"99999999999"}}) {
    const auto refused = run("spawn_process_child", wrong);
    EXPECT_EQ(refused.exit_code, 2) << refused.text();
    EXPECT_TRUE(refused.out.empty());
    EXPECT_THAT(refused.err, ElementsAre("spawn_process_child: one argument is needed, a whole number"));
  }
}

TEST(spawn_process, without_its_child_program_it_says_so) {
  const test_support::Folder folder;
  const std::filesystem::path copy = folder.path / "spawn_process";
  std::filesystem::copy_file(test_support::bin() + "/spawn_process", copy);
  const auto result = run(copy);
  EXPECT_EQ(result.exit_code, 3) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], StartsWith("spawn_process: posix_spawn of " + copy.string() + "_child in line "));
  EXPECT_THAT(result.err[0], EndsWith(": No such file or directory"));
}

TEST(spawn_process, without_the_guard_the_children_start_children) {
  const auto result = run("spawn_process_no_guard");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.lines_with("^called function in process: \\d$").size(), 30U) << result.text();
  EXPECT_EQ(result.out.back(), "30 processes instead of 5");
  EXPECT_EQ(result.left_behind, 0);
}

TEST(spawn_process, killed_or_interrupted_it_leaves_nothing_behind) {
  const auto killed = run("spawn_process", {"--children", "100"}, {.kill_after_ms = 30});
  EXPECT_EQ(killed.exit_code, -9) << killed.text();
  EXPECT_EQ(killed.left_behind, 0);
  const auto interrupted = run("spawn_process", {"--children", "100"}, {.interrupt_after_ms = 30});
  EXPECT_EQ(interrupted.exit_code, -2) << interrupted.text();
  EXPECT_EQ(interrupted.left_behind, 0);
}

}  // namespace

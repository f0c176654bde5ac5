// What the program prints: who is reported by which tool, and whether the lines that it names are those of the race.

#include <fstream>
#include <map>
#include <regex>

#include "09_diagnosis/run_tool.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

/// The cells of a form's row of the table: right, %, right with a pause, %, ThreadSanitizer, Helgrind and DRD.
Lines row(const test_support::Result& result, const std::string& form) {
  for (const std::string& line : result.out) {
    if (!line.starts_with(form + " ")) continue;
    std::istringstream words(line.substr(form.size()));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

// One test, since the program compiles twice and runs Valgrind four times.
TEST(find_race, the_tools_name_the_lines_of_the_race_and_have_their_false_alarms) {
  const test_support::TemporaryDirectory folder;
  const auto result =
      run("find_race", {"--jobs", "40"}, {.environment = {{"TMPDIR", folder.path.string()}}, .limit = 150s});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path)) << "it has left files";

  const std::map<std::string, Lines> expected = {{"AfterUnlock", {"0", "%", "race", "race"}},
                                                 {"ThenLog", {"0", "%", "missed", "missed"}},
                                                 {"UnderLock", {"100", "%", "-", "-"}},
                                                 {"Release", {"100", "%", "-", "false"}},
                                                 {"Fences", {"100", "%", "false", "false"}}};
  for (const auto& [form, cells] : expected) {
    const Lines found = row(result, form);
    ASSERT_EQ(found.size(), 6U) << result.text();
    EXPECT_EQ(Lines(found.begin() + 2, found.end()), cells) << form << "\n" << result.text();
    if (cells[0] == "100") {
      EXPECT_EQ(found[0], "100") << form << " is right in every run\n" << result.text();
    }
  }
  const std::string both_of_valgrind = "[AfterUnlock, Release, Fences]";
  EXPECT_TRUE(result.has_line("ok    reported by ThreadSanitizer, Helgrind, DRD: [[AfterUnlock, Fences], " +
                              both_of_valgrind + ", " + both_of_valgrind + "]"))
      << result.text();
  EXPECT_TRUE(result.has_line("ok    reported with the suppressions: [[AfterUnlock], [AfterUnlock], [AfterUnlock]]"))
      << result.text();

  const Lines text =
      lines_of(test_support::text_of(beside(__FILE__, "../../chapters/09_diagnosis/find_race/find_race_forms.cpp")));
  ASSERT_FALSE(text.empty());
  const auto lines = result.captures(R"(find_race_forms\.cpp:(\d+) +AfterUnlock::(?:take|finish)\()");
  ASSERT_EQ(lines.size(), 2U) << result.text();
  EXPECT_NE(text[std::stoi(lines[0]) - 1].find("return result;"), std::string::npos);
  EXPECT_NE(text[std::stoi(lines[1]) - 1].find("result = sum;"), std::string::npos);
  EXPECT_EQ(result.lines_with("^ +Read of size 8 by main thread").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^ +Previous write of size 8 by thread").size(), 1U) << result.text();
}

TEST(find_race, skips_itself_without_valgrind) {
  const auto skipped = run("find_race", {}, {.environment = {{"PATH", "/nonexistent"}}});
  EXPECT_EQ(skipped.exit_code, 77) << skipped.text();
  EXPECT_TRUE(skipped.has_line("skipped: valgrind is missing; install valgrind")) << skipped.text();
}

TEST(find_race, the_count_under_a_shared_lock_is_right_without_a_tool) {
  const auto pitfall = run("find_race_shared_lock", {}, {.environment = {{"TSAN_OPTIONS", "exitcode=0"}}});
  EXPECT_EQ(pitfall.exit_code, 0) << pitfall.text();
  EXPECT_EQ(pitfall.out, Lines{"4 look-ups counted"});
}

TEST(find_race, a_tool_that_fails_ends_the_program) {
  EXPECT_EXIT(output_of_tool({"sh", "-c", "echo no; exit 5"}), testing::ExitedWithCode(3),
              "sh ended with exit code 5:\nno");
}

}  // namespace

// What the program prints: who is reported by which tool, and whether the lines that it names are those of the race.
// The other tests need no Valgrind.

#define main main_of_the_program  // its functions are tested from inside, too
#include "09_diagnosis/find_race/find_race.cpp"
#undef main

#include <fstream>
#include <regex>

#include "support/files.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using test_support::run;
using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

/// The cells of a form's row of the table: a race or none, right, right with a pause, ThreadSanitizer, Helgrind, DRD.
Lines row(const test_support::Result& result, const std::string& form) {
  for (const std::string& line : result.out) {
    if (!line.starts_with(form + " ")) continue;
    static const std::regex between("  +");
    return {std::sregex_token_iterator(line.begin(), line.end(), between, -1), {}};
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

  for (const Lines& expected : {Lines{"AfterUnlock", "yes", "", "0 %", "found", "found", "found"},
                                Lines{"ThenLog", "yes", "", "0 %", "missed", "missed", "missed"},
                                Lines{"UnderLock", "no", "100 %", "100 %", "-", "-", "-"},
                                Lines{"Release", "no", "100 %", "100 %", "-", "false alarm", "false alarm"},
                                Lines{"Fences", "no", "100 %", "100 %", "false alarm", "false alarm", "false alarm"}}) {
    Lines found = row(result, expected[0]);
    ASSERT_EQ(found.size(), expected.size()) << result.text();
    if (expected[2].empty()) found[2].clear();  // without a pause a race may be right in all tests, or in some
    EXPECT_EQ(found, expected) << result.text();
  }
  EXPECT_TRUE(result.has_line("ok    each tool reports the forms that are expected of it: yes")) << result.text();
  EXPECT_TRUE(result.has_line("ok    reported with the suppressions: [[AfterUnlock], [AfterUnlock], [AfterUnlock]]"))
      << result.text();

  const Lines text =
      lines_of(test_support::text_of(beside(__FILE__, "../../chapters/09_diagnosis/find_race/find_race_forms.cpp")));
  ASSERT_FALSE(text.empty());
  const auto lines = result.captures(R"(^    #0 AfterUnlock::(?:take|finish)\(.*\) find_race_forms\.cpp:(\d+)$)");
  ASSERT_EQ(lines.size(), 2U) << result.text();
  EXPECT_NE(text[std::stoi(lines[0]) - 1].find("return result;"), std::string::npos);
  EXPECT_NE(text[std::stoi(lines[1]) - 1].find("result = sum;"), std::string::npos);
  EXPECT_EQ(result.lines_with("^  Read of size 8 by main thread:$").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^  Previous write of size 8 by thread T1:$").size(), 1U) << result.text();
}

TEST(find_race_reported_forms, each_report_is_about_the_form_that_its_first_stack_names) {
  EXPECT_EQ(reported_forms("  void try_form<Release>(char const*, int)\n"), Names()) << "there is no report";
  const std::string frames_before = "by main thread:\n    #0 take() forms.cpp:1\n";
  EXPECT_EQ(reported_forms("WARNING: ThreadSanitizer: data race (pid=7)\n" + frames_before +
                           "    #1 void try_form<Fences>(char const*, int)\n"
                           "    #2 void try_form<ThenLog>(char const*, int)\n"
                           "  Previous write:\n    #0 void try_form<Release>(char const*, int)\n"
                           "==7== Possible data race during read of size 8\n" +
                           frames_before +
                           "==7==    by 0x1: void try_form<AfterUnlock>(char const*, int)\n"
                           "==7== This conflicts with a previous write\n"
                           "==7==    by 0x1: void try_form<UnderLock>(char const*, int)\n"
                           "==7== Conflicting load by thread 1\n"
                           "==7==    by 0x1: void try_form<Fences>(char const*, int)\n"
                           "==7== Conflicting store by thread 1\n"
                           "==7==    by 0x1: void try_form<Release>(char const*, int)\n"),
            (Names{"Fences", "AfterUnlock", "Release"}));
}

TEST(find_race_forms, a_pause_between_the_two_writes_shows_which_forms_are_wrong) {
  const test_support::TemporaryDirectory folder;
  const std::string program = folder.path / "forms";
  output_of_tool({"g++", "-std=c++20", beside(__FILE__, "../../chapters/09_diagnosis/find_race/find_race_forms.cpp"),
                  "-pthread", "-o", program});
  const auto result = run(program, {"20", "200"}, {.limit = 20s});
  ASSERT_FALSE(result.timed_out) << result.text();
  std::string text;
  for (const std::string& line : result.out) text += line + "\n";
  auto right = percent_right(text, 20);
  EXPECT_EQ(right.size(), forms.size()) << text;
  for (const std::string form : {"AfterUnlock", "ThenLog"}) EXPECT_LT(right[form], 100) << text;
  for (const std::string form : {"UnderLock", "Release", "Fences"}) EXPECT_EQ(right[form], 100) << text;
}

TEST(find_race_beside, finds_a_source_in_a_folder_above_the_program_or_else_in_the_current_one) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const auto folder = program.parent_path();
  test_support::with_watchdog([&] {
    EXPECT_EQ(beside(program, "other"), folder / "other") << "an absolute path";
    EXPECT_EQ(beside(program.filename(), "other"), folder / "other");
    EXPECT_EQ(beside(folder.filename() / program.filename(), "other"), folder / "other");
    EXPECT_EQ(beside(program.relative_path(), "other"), folder / "other") << "from the root";
    EXPECT_EQ(beside("no_such_folder/source.cpp", "other"), std::filesystem::current_path() / "no_such_folder/other");
  });
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

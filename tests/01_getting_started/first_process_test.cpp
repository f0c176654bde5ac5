// A first process: the program seen from outside. Catalogue: 1.11, 1.C31.

#include <algorithm>
#include <regex>
#include <set>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// The lines of the output from one that starts with `title` up to the first check after it.
std::vector<std::string> conversation(const test_support::Result& result, const std::string& title) {
  std::vector<std::string> lines;
  bool inside = false;
  for (const std::string& line : result.out) {
    if (inside && line.rfind("ok ", 0) == 0) break;
    if (inside) lines.push_back(line);
    if (line == title) inside = true;
  }
  return lines;
}

/// The process ids that stand behind `name` in the lines, each once.
std::set<std::string> ids(const std::vector<std::string>& lines, const std::string& name) {
  std::set<std::string> found;
  const std::regex id("^  " + name + " (\\d+): ");
  std::smatch match;
  for (const std::string& line : lines) {
    if (std::regex_search(line, match, id)) found.insert(match[1]);
  }
  return found;
}

/// Hardly any time goes into the figures, which are no subject here.
test_support::Result run_quick() { return run("first_process", {"--times", "1"}); }

bool any_has(const std::vector<std::string>& lines, const std::string& text) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

TEST(first_process, exec_keeps_the_process_and_never_comes_back) {
  const auto result = run_quick();
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const auto lines = conversation(result, "The caller replaces itself:");
  EXPECT_TRUE(any_has(lines, "Process calling")) << result.text();
  EXPECT_FALSE(any_has(lines, "Good Bye")) << result.text();
  EXPECT_TRUE(any_has(lines, "Hello Parallel Programming Cookbook!!")) << result.text();
  EXPECT_EQ(ids(lines, "caller").size(), 1U) << result.text();
  EXPECT_EQ(ids(lines, "caller"), ids(lines, "callee")) << result.text();
  EXPECT_EQ(lines.at(0).substr(lines.at(0).find(':')), ": Process calling");
  EXPECT_EQ(lines.back().substr(lines.back().find(':')), ": Closing");
}

TEST(first_process, the_callee_gets_arguments_environment_and_open_descriptors) {
  const auto result = run_quick();
  const auto lines = conversation(result, "The caller replaces itself:");
  EXPECT_TRUE(any_has(lines, "argv[0] = first_process_callee")) << result.text();
  EXPECT_TRUE(any_has(lines, "argv[1] = an argument")) << result.text();
  EXPECT_TRUE(any_has(lines, "GREETING = from the caller")) << result.text();
  EXPECT_TRUE(result.has_line("ok    a descriptor of the caller: open")) << result.text();
  EXPECT_TRUE(result.has_line("ok    one marked close-on-exec: closed")) << result.text();
}

TEST(first_process, spawn_makes_a_second_process_and_the_caller_goes_on) {
  const auto result = run_quick();
  const auto lines = conversation(result, "The caller starts a second process:");
  EXPECT_TRUE(any_has(lines, "Good Bye!!")) << result.text();
  EXPECT_EQ(ids(lines, "caller").size(), 1U) << result.text();
  EXPECT_EQ(ids(lines, "callee").size(), 1U) << result.text();
  EXPECT_NE(ids(lines, "caller"), ids(lines, "callee")) << result.text();
  EXPECT_TRUE(any_has(lines, "my parent is " + *ids(lines, "caller").begin())) << result.text();
  EXPECT_EQ(lines.back().substr(lines.back().find(':')), ": Closing");
}

TEST(first_process, an_unflushed_line_is_lost_at_exec) {
  const auto result = run_quick();
  EXPECT_TRUE(result.has_line("ok    lines of the caller before execvp: 1")) << result.text();
  EXPECT_TRUE(result.has_line("ok    lines of the caller before execvp, not flushed: 0")) << result.text();
}

TEST(first_process, a_program_that_does_not_exist_is_an_error_that_the_caller_sees) {
  const auto result = run_quick();
  EXPECT_TRUE(result.has_line("ok    execvp of no_such_program: returned -1, No such file or directory"));
  EXPECT_TRUE(result.has_line("ok    lines of the caller behind it: 1"));
  EXPECT_TRUE(result.has_line("ok    the error is ENOENT: true"));
}

TEST(first_process, threads_share_variables_and_processes_do_not) {
  const auto result = run_quick();
  EXPECT_TRUE(result.has_line("ok    a variable set to 1 by a thread, as its maker sees it: 1")) << result.text();
  EXPECT_TRUE(result.has_line("ok    by a process, as that and as its maker sees it: [1, 0]")) << result.text();
}

TEST(first_process, the_callee_runs_alone_as_well) {
  const auto result = run("first_process_callee", {"one"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("argv\\[1\\] = (.*)"), std::vector<std::string>{"one"});
  EXPECT_EQ(result.captures("GREETING = (.*)"), std::vector<std::string>{"(not set)"});
}

TEST(first_process, nothing_is_left_behind) {
  EXPECT_EQ(run_quick().left_behind, 0);
  EXPECT_EQ(run("first_process", {"--times", "1000000"}, {.interrupt_after_ms = 300}).exit_code, -2);

  // The program alone is killed when it measures: what it has just started ends by itself. The shell leads the process
  // group; a zombie (Z) has ended and only waits for this test.
  const test_support::Folder folder;
  const std::string output = folder.path / "output";
  const std::string script = test_support::bin() + "/first_process --times 1000000 > " + output +
                             " & until grep -q 'by a process' " + output +
                             "; do sleep 0.01; done; kill -KILL $!; until ! ps -eo pgid=,stat=,comm= | grep -E \"^ *$$ "
                             "[^Z].*(first_process|true)\"; do sleep 0.05; done";
  const auto killed = run("/bin/sh", {"-c", script});
  EXPECT_EQ(killed.exit_code, 0) << killed.text();
}

}  // namespace

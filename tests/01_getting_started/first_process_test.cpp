// A first process: the three programs seen from outside. Catalogue: 1.11, 1.C31.

#include <unistd.h>

#include <fstream>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(first_process, spawn_makes_a_second_process_and_exec_keeps_it) {
  const auto result = run("first_process", {"--exit-code", "42"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const auto parent = result.captures("^parent (\\d+): ");
  const auto child = result.captures("^parent \\d+: (?:goes on, beside )?process (\\d+)(?: has ended)?$");
  ASSERT_EQ(parent.size(), 3U) << result.text();
  ASSERT_EQ(child.size(), 2U) << result.text();
  EXPECT_EQ(parent, std::vector(3, parent.front())) << result.text();
  EXPECT_EQ(child[0], child[1]) << result.text();
  EXPECT_NE(parent.front(), child.front()) << result.text();
  EXPECT_EQ(result.captures("^call(?:er|ee) (\\d+): "), std::vector(5, child.front())) << result.text();
  EXPECT_EQ(
      result.captures("^call(?:er|ee) \\d+: (.*)$"),
      (std::vector<std::string>{"calling", "hello", "argument: 42", "GREETING: from the caller", "ends after 0.1 s"}))
      << result.text();
  EXPECT_EQ(result.captures("^parent \\d+: (\\w+) "), (std::vector<std::string>{"posix_spawn", "goes", "process"}));
  EXPECT_EQ(result.out.end()[-1], "ok    exit code of the child, set by the callee: 42") << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(first_process, the_parent_goes_on_while_the_new_process_runs_and_waits_for_its_end) {
  // This process takes half a second, for which a parent that waits would say nothing.
  const test_support::TemporaryDirectory folder;
  std::filesystem::copy(test_support::bin() + "/first_process", folder.path / "first_process");
  std::ofstream(folder.path / "first_process_caller") << "#!/bin/sh\nsleep 0.5\necho child: ends\nexit $2\n";
  std::filesystem::permissions(folder.path / "first_process_caller", std::filesystem::perms::owner_all);
  const auto result = run(folder.path / "first_process");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("^(?:parent \\d+|child): (\\w+)"),
            (std::vector<std::string>{"posix_spawn", "goes", "ends", "process"}))
      << result.text();
}

TEST(first_process, the_parents_environment_reaches_the_callee_as_well) {
  const test_support::TemporaryDirectory folder;
  for (const char* program : {"first_process", "first_process_caller"}) {
    std::filesystem::copy(test_support::bin() + "/" + program, folder.path / program);
  }
  std::ofstream(folder.path / "first_process_callee") << "#!/bin/sh\necho \"$MARK, $GREETING\"\nexit $1\n";
  std::filesystem::permissions(folder.path / "first_process_callee", std::filesystem::perms::owner_all);
  const auto result = run(folder.path / "first_process", {}, {.environment = {{"MARK", "from the parent"}}});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("from the parent, from the caller")) << result.text();
}

TEST(first_process, the_parent_waits_for_the_process_that_it_has_started_and_for_no_other) {
  // A shell starts a child and then becomes the program, which so has a child that it does not know. That one ends
  // first, since this caller takes half a second.
  const test_support::TemporaryDirectory folder;
  std::filesystem::copy(test_support::bin() + "/first_process", folder.path / "first_process");
  std::ofstream(folder.path / "first_process_caller") << "#!/bin/sh\nsleep 0.5\nexit $2\n";
  std::filesystem::permissions(folder.path / "first_process_caller", std::filesystem::perms::owner_all);
  const auto result = run("/bin/sh", {"-c", "(exit 1) & exec " + (folder.path / "first_process").string()});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    exit code of the child, set by the callee: 7")) << result.text();
}

TEST(first_process, an_exit_code_that_the_caller_has_itself_is_refused) {
  EXPECT_EQ(run("first_process", {"--exit-code", "3"}).exit_code, 2);
  EXPECT_EQ(run("first_process", {"--exit-code", "4"}).exit_code, 0);
}

TEST(first_process, a_process_that_a_signal_ends_has_no_exit_code) {
  const test_support::TemporaryDirectory folder;
  std::filesystem::copy(test_support::bin() + "/first_process", folder.path / "first_process");
  std::ofstream(folder.path / "first_process_caller") << "#!/bin/sh\nkill -KILL $$\n";
  std::filesystem::permissions(folder.path / "first_process_caller", std::filesystem::perms::owner_all);
  const auto result = run(folder.path / "first_process");
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("FAIL  exit code of the child, set by the callee: -1, expected 7")) << result.text();
}

TEST(first_process, a_callee_that_is_not_there_is_noticed) {
  // Alone in a folder, the program finds neither caller nor callee; with a caller it finds no callee.
  const test_support::TemporaryDirectory folder;
  const std::string program = folder.path / "first_process";
  std::filesystem::copy(test_support::bin() + "/first_process", program);
  const auto alone = run(program);
  EXPECT_EQ(alone.exit_code, 3) << alone.text();
  ASSERT_EQ(alone.err.size(), 1U) << alone.text();
  EXPECT_THAT(alone.err[0], testing::HasSubstr("posix_spawn"));

  std::filesystem::copy(test_support::bin() + "/first_process_caller", folder.path / "first_process_caller");
  const auto no_callee = run(program);
  EXPECT_EQ(no_callee.exit_code, 1) << no_callee.text();
  EXPECT_TRUE(no_callee.has_line("FAIL  exit code of the child, set by the callee: 3, expected 7")) << no_callee.text();
}

TEST(first_process_caller, passes_arguments_and_environment_on) {
  // The arguments of the new program begin with its name; "sh -c" prints the one before the others.
  const auto result = run("first_process_caller", {"sh", "-c", "echo \"$0 $1 $GREETING\"; exit 7", "zero", "one"},
                          {.environment = {{"GREETING", "from elsewhere"}}});
  EXPECT_EQ(result.exit_code, 7) << result.text();
  ASSERT_EQ(result.out.size(), 2U) << result.text();
  EXPECT_EQ(result.lines_with("^caller \\d+: calling$").size(), 1U) << result.text();
  EXPECT_EQ(result.out[1], "zero one from the caller");
  EXPECT_EQ(run("first_process_caller", {"cat", "/proc/self/cmdline"}).out.back(),
            std::string("cat\0/proc/self/cmdline\0", 23));
}

TEST(first_process_caller, a_caller_that_calls_a_caller_is_one_process) {
  const auto result = run("first_process_caller", {test_support::bin() + "/first_process_caller", "echo", "Hello"});
  const auto ids = result.captures("^caller (\\d+): calling$");
  ASSERT_EQ(ids.size(), 2U) << result.text();
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(result.out.back(), "Hello");
}

TEST(first_process_caller, goes_on_if_there_is_no_such_program) {
  const auto result = run("first_process_caller", {"no_such_program"});
  EXPECT_EQ(result.exit_code, 3) << result.text();
  EXPECT_EQ(result.captures("^caller \\d+: (.*)$"),
            (std::vector<std::string>{"calling", "cannot run no_such_program: No such file or directory", "goes on"}));
}

TEST(first_process_caller, says_how_to_call_it_if_no_program_is_named) {
  const auto result = run("first_process_caller");
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("usage: first_process_caller PROGRAM [ARGUMENT...]")) << result.text();
  EXPECT_THAT(result.out, testing::IsEmpty());
}

TEST(first_process_callee, runs_alone_as_well) {
  const auto result = run("first_process_callee", {"5"});
  EXPECT_EQ(result.exit_code, 5) << result.text();
  EXPECT_EQ(result.captures("argument: (.*)$"), std::vector<std::string>{"5"});
  EXPECT_EQ(result.captures("GREETING: (.*)$"), std::vector<std::string>{"not set"});
}

TEST(first_process_callee, without_an_exit_code_it_says_so_and_ends_with_0) {
  const auto result = run("first_process_callee");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("argument: (.*)$"), std::vector<std::string>{"none"});
}

TEST(first_process_unflushed, loses_its_line_where_the_output_is_no_terminal) {
  EXPECT_THAT(run("first_process_unflushed").out, testing::ElementsAre("callee: hello"));
  if (access("/usr/bin/script", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/script, which runs a program on a terminal";
  const auto terminal =
      run("/usr/bin/script", {"-q", "-e", "-c", test_support::bin() + "/first_process_unflushed", "/dev/null"});
  EXPECT_EQ(terminal.captures("(caller: calling|callee: hello)"),
            (std::vector<std::string>{"caller: calling", "callee: hello"}))
      << terminal.text();
}

}  // namespace

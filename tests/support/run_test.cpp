// The runner that every recipe's test uses must itself be trusted.

#include "support/run.hpp"

#include <gtest/gtest-spi.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cookbook/process.hpp"
#include "support/eventually.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::Process;
using test_support::run;
using test_support::ServerProcess;

void wait_until_stopped(pid_t child) {
  siginfo_t event{};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(child), &event, WSTOPPED | WNOWAIT), 0);
}

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

TEST(run, gives_it_its_input) {
  EXPECT_THAT(run("/bin/cat", {}, {.input = "one\ntwo\n"}).out, testing::ElementsAre("one", "two"));
  EXPECT_THAT(run("/bin/cat").out, testing::IsEmpty());
}

TEST(run, reads_errors_among_the_output_if_asked) {
  const auto result = run("run_test_child", {"both_outputs"}, {.errors_among_output = true});
  EXPECT_THAT(result.out, testing::ElementsAre("before", "message", "after"));
  EXPECT_THAT(result.err, testing::IsEmpty());
}

TEST(run, gives_no_more_files_than_asked) {
  EXPECT_THAT(run("/bin/sh", {"-c", "ulimit -n"}, {.max_files = 24}).out, testing::ElementsAre("24"));
}

TEST(run, captures_from_lines) {
  EXPECT_EQ(run("run_test_child", {"much"}).captures("^line (99998|99999)$"),
            (std::vector<std::string>{"99998", "99999"}));
}

TEST(process, is_read_beside_the_test_and_then_to_its_end) {
  Process process("/bin/sh", {"-c", "echo one; echo two; echo three; read nothing; kill -STOP $$; echo four; exit 6"});
  EXPECT_EQ(process.read_line(), "one");
  EXPECT_EQ(process.read_until("re"), "three");
  EXPECT_THAT(process.lines(), testing::ElementsAre("one", "two", "three"));
  EXPECT_GT(process.resident(), 0);
  EXPECT_GE(process.processor_seconds(), 0);
  wait_until_stopped(process.pid());
  process.send_signal(SIGCONT);
  EXPECT_EQ(process.wait().exit_code, 6) << process.wait().text();
  EXPECT_THAT(process.wait().out, testing::ElementsAre("one", "two", "three", "four"));
  EXPECT_EQ(process.pid(), -1);
  process.send_signal(SIGKILL);  // to nobody
  EXPECT_EQ(process.read_line(), "four");
  EXPECT_EQ(process.read_line(), "");
}

TEST(process, does_not_wait_longer_for_a_line_than_the_limit) {
  Process process("run_test_child", {"wait"}, {.limit = 2s});  // in which it starts on a busy machine, too
  EXPECT_EQ(process.read_line(), "waiting");
  EXPECT_EQ(process.read_line(), "");
  EXPECT_EQ(process.stop(SIGTERM).exit_code, -SIGTERM);
}

TEST(process, says_that_an_awaited_line_does_not_come) {
  EXPECT_NONFATAL_FAILURE(
      Process("run_test_child", {"echo", "hello"}, {.environment = {{"ODD_VARIABLE", "value"}}}).read_until("good-bye"),
      "no line with 'good-bye'");
}

TEST(process, another_program_and_an_older_child_are_not_left_behind_by_one_that_ends) {
  const pid_t older = cookbook::start_child([] { pause(); });
  Process beside("run_test_child", {"wait"});
  EXPECT_EQ(beside.read_line(), "waiting");
  EXPECT_EQ(run("run_test_child", {"orphan"}, {.limit = 5s}).leaked_processes, 1);
  EXPECT_EQ(cookbook::exit_code_of(older, 0ms), std::nullopt);
  kill(older, SIGTERM);
  EXPECT_EQ(cookbook::exit_code_of(older), -SIGTERM);
  EXPECT_EQ(beside.stop(SIGTERM).exit_code, -SIGTERM);
}

TEST(process, is_killed_with_its_children_when_the_object_goes) {
  pid_t id = -1;
  {
    Process process("run_test_child", {"family"});
    EXPECT_EQ(process.read_line(), "waiting");
    id = process.pid();
  }
  EXPECT_EQ(kill(id, 0), -1);
  EXPECT_EQ(run("/bin/true").leaked_processes, 0);
}

/// What a test is told about a program of that habit.
std::string told(const std::vector<std::string>& habit, const test_support::RunOptions& options = {}) {
  testing::TestPartResultArray failures;
  testing::ScopedFakeTestPartResultReporter reporter(
      testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
  run("run_test_child", habit, options);
  std::string text;
  for (int i = 0; i < failures.size(); ++i) text += failures.GetTestPartResult(i).message();
  return text;
}

TEST(run, says_what_a_program_leaves_behind) {
  EXPECT_THAT(told({"leave", "a file"}), testing::HasSubstr("left behind: left"));
  if (test_support::memory_factor == 1) {  // a sanitizer leaves no place for run_probe.cpp
    EXPECT_THAT(told({"leave", "a descriptor"}), testing::HasSubstr("run_test_child has left a descriptor open"));
    EXPECT_THAT(told({"leave", "a mapping"}), testing::HasSubstr("run_test_child has left shared memory mapped"));
    const std::string name = told({"leave", "a name"});
    EXPECT_THAT(name, testing::HasSubstr("left behind: /dev/shm/left."));
    std::filesystem::remove(
        name.substr(name.find("/dev/shm/"), name.find_last_not_of('\n') + 1 - name.find("/dev/shm/")));
  }
  EXPECT_EQ(told({"leave", "nothing"}), "");
  EXPECT_EQ(told({"leave", "a descriptor"}, {.descriptors_left = 1}), "");
  EXPECT_EQ(told({"leave", "a file"}, {.may_leave_something = true}), "");
}

TEST(run, says_that_other_machines_can_reach_a_program) {
  if (test_support::memory_factor == 1) {  // a sanitizer leaves no place for run_probe.cpp
    EXPECT_THAT(told({"bind", "0.0.0.0"}),
                testing::HasSubstr("run_test_child binds a socket to an address that other"));
    EXPECT_THAT(told({"bind", "nowhere"}), testing::HasSubstr("run_test_child listens where other machines can"));
  }
  EXPECT_EQ(told({"bind", "127.0.0.1"}), "");
  EXPECT_EQ(told({"bind", "127.0.0.9"}), "");
}

TEST(run, gives_the_time_the_processor_time_and_the_number_of_threads) {
  const auto asleep = run("run_test_child", {"threads", "0"}), busy = run("run_test_child", {"threads", "3"});
  EXPECT_GE(asleep.seconds, 0.2);
  EXPECT_LT(asleep.processor_seconds, 0.15);
  EXPECT_GE(busy.processor_seconds, 0.15);
  if (test_support::memory_factor > 1) return;
  EXPECT_EQ(asleep.most_threads, 1);
  EXPECT_EQ(busy.most_threads, 4);
}

TEST(process, is_idle_while_it_sleeps) {
  Process asleep("run_test_child", {"wait"}), busy("run_test_child", {"spin"});
  EXPECT_EQ(asleep.read_line(), "waiting");
  EXPECT_TRUE(asleep.is_idle());
  // (On a busy machine one that spins may not get enough time to be told from one that sleeps.)
  EXPECT_TRUE(test_support::eventually([&] { return busy.processor_seconds() > 0.2; }));
}

TEST(server, says_its_port) { EXPECT_EQ(ServerProcess("/bin/echo", {"listens at 127.0.0.1:1234"}).port, 1234); }

TEST(run, says_that_a_program_does_not_exist) { EXPECT_THROW(run("no_such_program"), std::system_error); }

}  // namespace

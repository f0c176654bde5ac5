#include "cookbook/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

namespace {

using namespace std::chrono_literals;
using cookbook::ChildProcess;
using cookbook::ChildProgram;
using cookbook::exit_code_of;
using cookbook::start_child;
using testing::ElementsAre;
using Output = ChildProcess::Output;

/// A pipe whose writing end children inherit: its end is seen when none of them is left.
class Inherited {
 public:
  Inherited() { check(pipe(ends_), "pipe"); }
  ~Inherited() { close(ends_[0]); }
  void write_byte() const { check(write(ends_[1], "!", 1), "write"); }
  void read_byte() const {
    char byte = 0;
    EXPECT_EQ(read(ends_[0], &byte, 1), 1);
  }
  bool all_have_ended() {
    close(ends_[1]);
    char byte = 0;
    return read(ends_[0], &byte, 1) == 0;
  }

 private:
  int ends_[2];
};

TEST(exit_code_of, is_what_the_child_returned_or_minus_the_signal) {
  EXPECT_EQ(exit_code_of(start_child([] {})), 0);
  EXPECT_EQ(exit_code_of(start_child([] { return 3; })), 3);
  EXPECT_EQ(exit_code_of(start_child([] { return 259; })), 3) << "eight bits arrive";
  for (const int signal : {SIGTERM, SIGKILL, SIGINT}) {
    EXPECT_EQ(exit_code_of(start_child([&] { raise(signal); })), -signal);
  }
}

TEST(exit_code_of, waits_no_longer_than_the_limit) {
  const pid_t child = start_child([] { pause(); });
  EXPECT_EQ(exit_code_of(child, 0ms), std::nullopt);
  EXPECT_EQ(exit_code_of(child, 10ms), std::nullopt);
  kill(child, SIGTERM);
  EXPECT_EQ(exit_code_of(child, 20s), -SIGTERM);
}

TEST(start_child, does_not_outlive_its_parent) {
  Inherited pipe;
  EXPECT_EQ(exit_code_of(start_child([&] {
              start_child([] { pause(); });
              raise(SIGKILL);
            })),
            -SIGKILL);
  EXPECT_TRUE(pipe.all_have_ended());
}

TEST(start_child, gets_the_signal_that_was_asked_for_when_its_parent_ends) {
  Inherited pipe;
  EXPECT_EQ(exit_code_of(start_child([&] {
              start_child(
                  [&] {
                    sigset_t blocked;  // before it writes a byte, so that the signal cannot come too early
                    sigemptyset(&blocked);
                    sigaddset(&blocked, SIGUSR1);
                    sigprocmask(SIG_BLOCK, &blocked, nullptr);
                    pipe.write_byte();
                    int signal = 0;
                    sigwait(&blocked, &signal);
                    if (signal == SIGUSR1) pipe.write_byte();
                  },
                  SIGUSR1);
              pipe.read_byte();
            })),
            0);
  pipe.read_byte();
  EXPECT_TRUE(pipe.all_have_ended());
}

// The end of the parent between fork() and prctl() cannot be brought about, but a parent that is another process can.
TEST(end_with_parent, ends_a_child_whose_parent_has_gone) {
  EXPECT_EQ(exit_code_of(start_child([] {
              cookbook::end_with_parent(getpid());  // not the parent
              return 7;
            })),
            1);
}

TEST(kill_tree, kills_grandchildren_that_have_left_the_group) {
  Inherited pipe;
  const pid_t child = start_child([&] {
    start_child([&] {
      setsid();
      prctl(PR_SET_PDEATHSIG, 0);  // it would outlive its parent
      pipe.write_byte();
      pause();
    });
    pause();
  });
  pipe.read_byte();
  cookbook::kill_tree(child);
  EXPECT_EQ(exit_code_of(child), -SIGKILL);
  EXPECT_TRUE(pipe.all_have_ended());
}

TEST(child_process, its_lines_and_its_end_are_seen) {
  ChildProcess child([] {
    for (const char* line : {"one", "two", "three", "four"}) cookbook::println("{}", line);
  });
  EXPECT_EQ(child.read_line(), "one");
  EXPECT_EQ(child.read_until("re"), "three");
  EXPECT_EQ(child.read_all(), "four\n");
  EXPECT_EQ(child.wait(), 0);
  EXPECT_THAT(child.lines(), ElementsAre("one", "two", "three", "four"));
}

TEST(child_process, says_its_lines_although_records_are_wanted) {
  cookbook::want_json(true);
  ChildProcess child([] { cookbook::println("one"); });
  cookbook::want_json(false);
  EXPECT_EQ(child.read_all(), "one\n");
}

TEST(child_process, has_standard_error_read_too_if_asked) {
  ChildProcess child([] { cookbook::print_error("wrong"); }, Output::piped_with_errors);
  EXPECT_THAT(child.read_line(), testing::EndsWith(": wrong"));
}

TEST(child_process, without_a_pipe_has_no_lines) {
  ChildProcess child([] {}, Output::inherited);
  EXPECT_EQ(child.read_all(), "");
  EXPECT_EQ(child.wait(), 0);
}

TEST(child_process, is_waited_for_no_longer_than_the_limit) {
  ChildProcess child([] { pause(); });
  EXPECT_EQ(child.wait(10ms), std::nullopt);
  EXPECT_EQ(child.stop(SIGTERM), -SIGTERM);
  EXPECT_EQ(child.wait(0ms), -SIGTERM);
}

// kill(-1, ...) would reach every process of this user. The signal here is 0, which is sent to nobody but of which
// kill(-1, 0) says that it was.
TEST(child_process, no_signal_is_sent_after_its_end) {
  ChildProcess child([] {});
  EXPECT_TRUE(child.send_signal(0));
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(child.pid(), -1);
  EXPECT_FALSE(child.send_signal(0));
  EXPECT_EQ(child.stop(0), 0);
  EXPECT_EQ(child.wait(), 0) << "the same code again";
}

TEST(child_process, is_killed_with_all_that_it_has_started_when_the_object_goes) {
  Inherited pipe;
  {
    ChildProcess child([&] {
      start_child([] { pause(); }, 0);
      cookbook::println("started");
      pause();
    });
    child.read_line();
  }
  EXPECT_TRUE(pipe.all_have_ended());
}

TEST(child_process, that_ends_without_the_line_ends_this_program) {
  EXPECT_EXIT(
      {
        ChildProcess child([] { cookbook::println("one"); });
        child.read_until("two");
      },
      testing::ExitedWithCode(3), "before it said 'two'");
}

TEST(child_program, is_found_as_a_shell_finds_it_and_gets_its_words) {
  ChildProgram program({"sh", "-c", "echo $0 $1 $SET; exit 7", "a", "b c"}, Output::piped,
                       [] { setenv("SET", "in the child", 1); });
  EXPECT_EQ(program.read_line(), "a b c in the child");
  EXPECT_EQ(program.wait(), 7);
}

TEST(child_program, that_does_not_exist_gives_127) {
  ChildProgram program({"/no/such/program"}, Output::piped_with_errors);
  EXPECT_THAT(program.read_line(), testing::EndsWith("cannot start /no/such/program"));
  EXPECT_EQ(program.wait(), 127);
}

}  // namespace

// The program's output, and the class Process from inside.

#include "03_processes/process_class/process.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "one_shot_event.hpp"
#include "shared_memory.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(process_class, the_parent_finds_the_sum_in_shared_memory_not_in_its_object_and_in_part_as_exit_code) {
  for (const auto& [a, b] : {std::pair{200, 100}, {0, 0}, {255, 0}, {256, 0}, {1000, 1000}}) {
    const auto result = run("process_class", {"--a", std::to_string(a), "--b", std::to_string(b)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string sum = std::to_string(a + b), numbers = " +" + std::to_string(a) + " +" + std::to_string(b) + " +";
    EXPECT_THAT(
        result.lines_with("^(before|at the|after) "),
        testing::ElementsAre(testing::MatchesRegex("before start\\(\\) +parent" + numbers + "0 +0"),
                             testing::MatchesRegex("at the end of run\\(\\) +child" + numbers + sum + " +" + sum),
                             testing::MatchesRegex("after join\\(\\) +parent" + numbers + "0 +" + sum)))
        << result.text();
    const std::string exit_code = std::to_string((a + b) % 256);
    EXPECT_TRUE(
        result.has_line("ok    what the parent has: sum, shared sum, exit code: [0, " + sum + ", " + exit_code + "]"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    children left when their objects are gone: 0")) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

/// Notes in which process run() was called, and with which argument.
class Reporter : public Process {
 public:
  struct Report {
    pid_t process = 0;
    int argument = 0;
  };
  Reporter(Report& report, int argument) : report_(report), argument_(argument) {}
  int run() override {
    report_ = {getpid(), argument_};
    argument_ = 0;
    return 3;
  }
  int argument() const { return argument_; }

 private:
  Report& report_;
  int argument_;
};

TEST(process_class_process, run_is_in_the_child_after_start_and_in_the_caller_when_called_directly) {
  const Shared<Reporter::Report> report;
  Reporter reporter(*report, 42);
  reporter.start();
  EXPECT_EQ(reporter.join(), 3);
  EXPECT_NE(report->process, 0);
  EXPECT_NE(report->process, getpid());
  EXPECT_EQ(report->argument, 42) << "the child has the constructor's arguments";
  EXPECT_EQ(reporter.argument(), 42) << "and changes its copy only";
  EXPECT_EQ(reporter.run(), 3);
  EXPECT_EQ(report->process, getpid());
}

TEST(process_class_process, can_be_started_once_and_joined_as_often_as_one_likes) {
  const Shared<Reporter::Report> report;
  Reporter reporter(*report, 1);
  EXPECT_THROW(reporter.join(), std::logic_error);
  reporter.start();
  EXPECT_THROW(reporter.start(), std::logic_error) << "while it runs";
  EXPECT_EQ(reporter.join(), 3);
  EXPECT_EQ(reporter.join(), 3);
  EXPECT_THROW(reporter.start(), std::logic_error) << "and after its join";
}

class Sleeper : public Process {
 public:
  explicit Sleeper(const OneShotEvent& works) : works_(works) {}
  int run() override {
    alarm(10);  // it ends even if nobody ends it
    works_.give();
    pause();
    return 0;
  }

 private:
  const OneShotEvent& works_;
};

bool has_children() { return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

TEST(process_class_process, its_destructor_leaves_no_child_behind) {
  OneShotEvent works;
  std::unique_ptr<Process> forgotten = std::make_unique<Sleeper>(works);
  forgotten->start();
  works.wait();
  EXPECT_TRUE(has_children());
  forgotten.reset();
  EXPECT_FALSE(has_children());
}

class Stubborn : public Process {
 public:
  explicit Stubborn(const OneShotEvent& works) : works_(works) {}
  int run() override {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);
    works_.give();
    for (;;) pause();
  }

 private:
  const OneShotEvent& works_;
};

TEST(process_class_process, its_destructor_ends_a_child_that_ignores_signals_too) {
  // In a process of its own, which can be killed if it waits for the child for ever.
  const pid_t owner = cookbook::start_child([] {
    OneShotEvent works;
    Stubborn stubborn(works);
    stubborn.start();
    works.wait();
  });
  const auto code = cookbook::exit_code_of(owner, std::chrono::seconds(10));
  EXPECT_EQ(code, 0);
  if (code) return;
  check(kill(owner, SIGKILL), "kill");
  cookbook::exit_code_of(owner);
}

TEST(process_class_process, an_exception_ends_the_child_as_well) {
  OneShotEvent works;
  try {
    Sleeper sleeper(works);
    sleeper.start();
    works.wait();
    throw 1;
  } catch (int) {
  }
  EXPECT_FALSE(has_children());
}

TEST(process_class_process, the_kernel_kills_the_child_of_an_owner_that_is_killed) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // the child becomes a child of this process
  const pid_t owner = cookbook::start_child([] {
    OneShotEvent works;
    Sleeper sleeper(works);
    sleeper.start();
    works.wait();
    raise(SIGKILL);
  });
  EXPECT_EQ(cookbook::exit_code_of(owner), -SIGKILL);
  EXPECT_EQ(cookbook::exit_code_of(-1), -SIGKILL) << "-1 means any child; the sleeper is the only one";
}

TEST(process_class_process, the_child_is_killed_when_the_thread_that_has_started_it_ends) {
  OneShotEvent works;
  Sleeper sleeper(works);
  std::thread([&] {
    sleeper.start();
    works.wait();
  }).join();
  EXPECT_EQ(sleeper.join(), -SIGKILL);
}

TEST(process_class_process, says_which_signal_ended_it) {
  struct EndedBySignal : Process {
    int run() override { return raise(SIGTERM); }
  } process;
  process.start();
  EXPECT_EQ(process.join(), -SIGTERM);
}

}  // namespace

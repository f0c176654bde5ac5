// The program's output, and the class Process from inside. Catalogue: 3.6.

#include "03_processes/process_class/process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "one_shot_event.hpp"
#include "shared_memory.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(process_class, processes_are_named_by_class_and_number_and_run_in_order) {
  for (const int count : {1, 5, 12}) {
    const auto result = run("process_class", {"--processes", std::to_string(count)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    std::vector<std::string> names;
    for (int i = 1; i <= count; ++i) names.push_back("MyProcess-" + std::to_string(i));
    EXPECT_EQ(result.captures("^called run method in process: (.*)$"), names) << result.text();
    EXPECT_TRUE(result.has_line("ok    processes with exit code 0: " + std::to_string(count))) << result.text();
    EXPECT_TRUE(result.has_line("ok    exit code of Adder-" + std::to_string(count + 1) + ", which adds 40 and 2: 42"))
        << result.text();
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

TEST(process_class_process, says_which_signal_ended_it) {
  struct EndedBySignal : Process {
    int run() override { return raise(SIGTERM); }
  } process;
  process.start();
  EXPECT_EQ(process.join(), -SIGTERM);
}

TEST(process_class_process, the_names_of_all_classes_have_one_count) {
  OneShotEvent works;
  const Sleeper sleeper(works);
  const Shared<Reporter::Report> report;
  const Reporter reporter(*report, 1);
  const std::string sleeper_name = sleeper.name(), reporter_name = reporter.name();
  ASSERT_TRUE(sleeper_name.starts_with("Sleeper-")) << sleeper_name;
  ASSERT_TRUE(reporter_name.starts_with("Reporter-")) << reporter_name;
  EXPECT_EQ(std::stoi(reporter_name.substr(9)), std::stoi(sleeper_name.substr(8)) + 1);
}

}  // namespace

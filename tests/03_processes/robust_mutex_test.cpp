// The program's output and its check, and Monitor from inside: processes die at every place.

#define main main_of_the_program  // it is run from inside, too
#include "03_processes/robust_mutex/robust_mutex.cpp"
#undef main

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;
using test_support::wait_until_asleep;

TEST(robust_mutex, one_of_any_number_of_processes_repairs) {
  for (const int processes : {1, 50}) {
    const std::string count = std::to_string(processes);
    const auto result = run("robust_mutex", {"--processes", count}, {.limit = 10s});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    for (const std::string line :
         {"exit code of the process that is killed: -9", "repairs: 1",
          "three processes at data that cannot be repaired: [\"killed\", \"cannot repair\", \"refused\"]"}) {
      EXPECT_TRUE(result.has_line(std::string("ok    ") + line)) << line << '\n' << result.text();
    }
    EXPECT_TRUE(result.has_line("a process is killed half-way through a transfer of 10")) << result.text();
    EXPECT_TRUE(result.has_line("ok    processes that then transfer 1: " + count)) << result.text();
    EXPECT_TRUE(result.has_line("ok    both accounts: [" + std::to_string(60 - processes) + ", " +
                                std::to_string(40 + processes) + "]"))
        << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

int forks = 0;       // of this process, once they are counted
int fails_with = 0;  // the child that this one of them makes fails at once

/// From now on: the child of fork number `fork` fails, 0: none.
void fail_at(int fork) {
  static const int error = pthread_atfork([] { ++forks; }, nullptr,
                                          [] {
                                            if (forks == fails_with) _exit(1);
                                          });
  ASSERT_EQ(error, 0);
  forks = 0;
  fails_with = fork;
}

TEST(robust_mutex, a_process_that_fails_is_not_counted_as_one_that_has_transferred) {
  std::string name = "robust_mutex";
  char* arguments[] = {name.data(), nullptr};
  fail_at(3);  // the second of four: the first fork makes the process that is killed
  testing::internal::CaptureStdout();
  const int exit_code = main_of_the_program(1, arguments);
  const std::string output = testing::internal::GetCapturedStdout();
  fail_at(0);
  EXPECT_EQ(exit_code, 1);
  for (const std::string line : {"ok    repairs: 1\n", "FAIL  processes that then transfer 1: 3, expected 4\n",
                                 "FAIL  both accounts: [57, 43], expected [56, 44]\n"}) {
    EXPECT_THAT(output, testing::HasSubstr(line));
  }
}

TEST(robust_mutex, each_fate_of_a_process_has_its_name) {
  const Shared<Monitor<Ruins>> ruins;
  fail_at(1);
  EXPECT_EQ(fate(*ruins, false), "exit code 1");
  fail_at(0);
  EXPECT_EQ(fate(*ruins, false), "admitted");
  EXPECT_EQ(fate(*ruins, true), "killed");
  EXPECT_EQ(fate(*ruins, false), "cannot repair");
  EXPECT_EQ(fate(*ruins, false), "refused");
}

TEST(robust_mutex, the_accounts_have_100_together_wherever_in_the_transfer_the_owner_has_died) {
  const auto die = [](Accounts&) { raise(SIGKILL); };
  const auto take = [](Accounts& accounts) { accounts.first -= 10; };
  const auto give = [](Accounts& accounts) { accounts.second += 10; };
  struct Death {
    std::vector<std::function<void(Accounts&)>> steps;
    int first;  // after the repair
  };
  // The last one: the compiler may have put the second change first.
  for (const Death& death : {Death{{die}, 70}, {{take, die}, 60}, {{take, give, die}, 60}, {{give, die}, 70}}) {
    const Shared<Monitor<Accounts>> accounts;
    EXPECT_EQ(cookbook::exit_code_of(cookbook::start_child([&] {
                const Monitor<Accounts>::Access access(*accounts);
                for (const auto& step : death.steps) step(*access.operator->());
              })),
              -SIGKILL);
    const Monitor<Accounts>::Access access(*accounts);
    EXPECT_EQ(access->first, death.first);
    EXPECT_EQ(access->second, 100 - death.first);
    EXPECT_EQ(access->repairs, 1);
  }
}

TEST(robust_mutex, a_process_that_waits_for_the_lock_gets_it_when_the_owner_is_killed) {
  struct Counter {
    int repairs = 0;
    void repair() { ++repairs; }
  };
  const Shared<Monitor<Counter>> counter;
  const pid_t owner = cookbook::start_child([&] {
    const Monitor<Counter>::Access access(*counter);
    for (;;) pause();
  });
  wait_until_asleep(owner);
  const pid_t waiting = cookbook::start_child([&] { return Monitor<Counter>::Access(*counter)->repairs == 1 ? 0 : 1; });
  wait_until_asleep(waiting);
  check(kill(owner, SIGKILL), "kill");
  EXPECT_EQ(cookbook::exit_code_of(owner), -SIGKILL);
  EXPECT_EQ(cookbook::exit_code_of(waiting), 0);
}

TEST(robust_mutex, if_the_process_that_repairs_is_killed_the_next_one_repairs) {
  struct Counter {
    int repairs = 0;
    void repair() {
      if (++repairs == 1) raise(SIGKILL);
    }
  };
  const Shared<Monitor<Counter>> counter;
  const auto lock_and_die = [&] {
    const Monitor<Counter>::Access access(*counter);
    raise(SIGKILL);
  };
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(cookbook::exit_code_of(cookbook::start_child(lock_and_die)), -SIGKILL);  // at work, in its repair
  EXPECT_EQ(Monitor<Counter>::Access(*counter)->repairs, 2);
  EXPECT_EQ(Monitor<Counter>::Access(*counter)->repairs, 2);
}

TEST(robust_mutex, after_a_repair_that_throws_nobody_gets_access) {
  struct Wreck {
    void repair() { throw std::logic_error("not this"); }
  };
  using RuinsMonitor = Monitor<Wreck>;
  const Shared<RuinsMonitor> ruins;
  EXPECT_EQ(cookbook::exit_code_of(cookbook::start_child([&] {
              const RuinsMonitor::Access access(*ruins);
              raise(SIGKILL);
            })),
            -SIGKILL);
  EXPECT_THROW(RuinsMonitor::Access{*ruins}, std::logic_error);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(RuinsMonitor::Access{*ruins}, std::runtime_error);
}

TEST(robust_mutex, no_change_is_lost_though_many_die) {
  struct Counter {
    int value = 0, repairs = 0;
    void repair() { ++repairs; }
  };
  const Shared<Monitor<Counter>> counter;
  std::vector<pid_t> children;
  for (int i = 0; i < 40; ++i) {
    children.push_back(cookbook::start_child([&] {
      for (int round = 0; round < 100; ++round) {
        const Monitor<Counter>::Access access(*counter);
        ++access->value;
        if (i % 2 == 1 && round == 99) raise(SIGKILL);
      }
    }));
  }
  for (const pid_t child : children) cookbook::exit_code_of(child);
  const Monitor<Counter>::Access access(*counter);
  EXPECT_EQ(access->value, 4000);
  EXPECT_EQ(access->repairs, 20);
}

}  // namespace

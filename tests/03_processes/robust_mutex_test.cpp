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

TEST(robust_mutex, an_ordinary_mutex_stays_locked_and_a_robust_one_goes_to_the_next_process) {
  for (const int amount : {1, 10, 60}) {
    const auto result = run("robust_mutex", {"--amount", std::to_string(amount)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const auto accounts = [](int first, int second) {
      return " +" + std::to_string(first) + " \\+ +" + std::to_string(second);
    };
    const std::string half_way = accounts(70 - amount, 30);
    for (const std::string& row :
         {"A dies half-way +killed" + half_way + " +killed" + half_way + " +killed" + half_way,
          "B comes next +waits" + half_way + " +repairs" + accounts(69 - amount, 31 + amount) + " +cannot repair" +
              half_way,
          "C comes last +waits" + half_way + " +locks" + accounts(68 - amount, 32 + amount) + " +refused" + half_way}) {
      EXPECT_EQ(result.lines_with("^" + row + "$").size(), 1U) << row << '\n' << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    what becomes of C: [\"waits\", \"locks\", \"refused\"]")) << result.text();
    EXPECT_TRUE(result.has_line("ok    the accounts after a repair and two transfers: [" + std::to_string(68 - amount) +
                                ", " + std::to_string(32 + amount) + "]"))
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

TEST(robust_mutex, a_process_that_fails_has_neither_transferred_nor_got_the_lock) {
  std::string name = "robust_mutex";
  char* arguments[] = {name.data(), nullptr};
  fail_at(6);  // each column forks three times: C of the robust mutex
  testing::internal::CaptureStdout();
  const int exit_code = main_of_the_program(1, arguments);
  const std::string output = testing::internal::GetCapturedStdout();
  fail_at(0);
  EXPECT_EQ(exit_code, 1);
  for (const std::string line :
       {"FAIL  what becomes of C: [\"waits\", \"exit code 1\", \"refused\"], expected [\"waits\", \"locks\", "
        "\"refused\"]\n",
        "FAIL  the accounts after a repair and two transfers: [59, 41], expected [58, 42]\n"}) {
    EXPECT_THAT(output, testing::HasSubstr(line));
  }
}

TEST(robust_mutex, each_fate_of_a_process_has_its_name) {
  const Shared<Monitored> ruins;
  Monitored::Access(*ruins)->repairable = false;
  fail_at(1);
  EXPECT_EQ(fate(*ruins, 1, false, 10s), "exit code 1");
  fail_at(0);
  EXPECT_EQ(fate(*ruins, 1, false, 10s), "locks");
  EXPECT_EQ(fate(*ruins, 1, true, 10s), "killed");
  EXPECT_EQ(fate(*ruins, 1, false, 10s), "cannot repair");
  EXPECT_EQ(fate(*ruins, 1, false, 10s), "refused");
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

// The program's output, and the manager from inside.

#include "03_processes/shared_state/manager.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <limits>

#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using test_support::run;
using test_support::wait_until_asleep;

TEST(shared_state, ten_workers_write_and_the_results_are_in_the_order_of_the_keys) {
  const auto result = run("shared_state");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  auto lines = result.captures("^(key = \\d+ value = \\d+)$");
  std::sort(lines.begin(), lines.end());
  std::vector<std::string> expected;
  for (int i = 0; i < 10; ++i) {
    expected.push_back("key = " + std::to_string(i) + " value = " + std::to_string(2 * i));
  }
  EXPECT_EQ(lines, expected);
  EXPECT_TRUE(result.has_line("Results: {0: 0, 1: 2, 2: 4, 3: 6, 4: 8, 5: 10, 6: 12, 7: 14, 8: 16, 9: 18}"));
  EXPECT_TRUE(result.has_line("ok    the same pairs as in one process: yes")) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(shared_state, get_and_set_lose_a_change_and_add_loses_none) {
  for (const int workers : {1, 2, 64}) {
    const auto result = run("shared_state", {"--workers", std::to_string(workers), "--changes", "20"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string all = std::to_string(20 * workers);
    EXPECT_EQ(result.captures("^key = (\\d+) value").size(), static_cast<std::size_t>(workers));
    EXPECT_TRUE(result.has_line("ok    the same pairs as in one process: yes")) << result.text();
    // The order is forced, so this one loses a change in every run.
    EXPECT_TRUE(result.has_line("ok    counter after 2 changes, the second made between get and set of the first: 1"));
    EXPECT_TRUE(result.has_line("ok    " + all + " changes by add: " + all)) << result.text();
  }
}

TEST(shared_state, the_map_is_in_the_manager_alone) {
  const Manager manager(2);
  EXPECT_NE(manager.process(), getpid());
  const pid_t worker = cookbook::start_child([&] { manager.map(1).set(5, 50); });
  EXPECT_EQ(cookbook::exit_code_of(worker), 0);
  EXPECT_EQ(manager.map(0).get(5), 50);
  std::ifstream maps("/proc/" + std::to_string(manager.process()) + "/maps");
  int pieces = 0;
  for (std::string line; std::getline(maps, line); ++pieces) {
    EXPECT_EQ(line.find(" rw-s "), std::string::npos) << line;  // memory that it shares and may write
  }
  EXPECT_GT(pieces, 0);
}

TEST(shared_state, any_key_and_any_value_will_do) {
  constexpr long least = std::numeric_limits<long>::min(), most = std::numeric_limits<long>::max();
  const Manager manager(1);
  const ManagedMap map = manager.map(0);
  EXPECT_THROW(map.get(0), std::out_of_range);
  map.set(1, 10);
  EXPECT_THROW(map.get(0), std::out_of_range);
  map.set(most, most);
  map.set(least, -1);
  map.add(-3, 4);
  for (const auto& [key, value] : std::map<long, long>{{least, -1}, {-3, 4}, {1, 10}, {most, most}}) {
    EXPECT_EQ(map.get(key), value);
  }
  map.add(most, 1);
  EXPECT_EQ(map.get(most), least);  // it wraps around
}

TEST(shared_state, the_manager_survives_signals_and_the_death_of_clients) {
  struct sigaction handle = {}, old;
  handle.sa_handler = [](int) {};  // without SA_RESTART: system calls are interrupted
  check(sigaction(SIGUSR1, &handle, &old), "sigaction");
  const Manager manager(2);
  check(sigaction(SIGUSR1, &old, nullptr), "sigaction");
  const ManagedMap map = manager.map(0);
  map.set(1, 10);
  for (int i = 0; i < 20; ++i) {
    check(kill(manager.process(), SIGUSR1), "kill");
    EXPECT_EQ(map.get(1), 10);
  }
  for (int i = 0; i < 5; ++i) {
    map.set(2, 0);
    const pid_t worker = cookbook::start_child([&] {
      for (long n = 1;; ++n) manager.map(1).set(2, n);
    });
    while (map.get(2) == 0) continue;  // until it is at work
    check(kill(worker, SIGKILL), "kill");
    EXPECT_EQ(cookbook::exit_code_of(worker), -SIGKILL);
    EXPECT_EQ(map.get(1), 10);
  }
}

TEST(shared_state, the_manager_ends_with_its_object) {
  pid_t process = 0;
  {
    const Manager manager(3);
    process = manager.process();
    manager.map(2).set(1, 1);
  }
  EXPECT_EQ(kill(process, 0), -1);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // it has been waited for
}

TEST(shared_state, a_request_is_refused_when_the_manager_has_gone) {
  const Manager killed(1);
  check(kill(killed.process(), SIGKILL), "kill");
  EXPECT_THROW(
      {
        for (;;) killed.map(0).set(1, 1);
      },
      std::runtime_error);
}

TEST(shared_state, a_client_that_waits_for_its_answer_is_told_when_the_manager_is_killed) {
  const Manager manager(1);
  check(kill(manager.process(), SIGSTOP), "kill");
  const pid_t client = cookbook::start_child([&] {
    try {
      manager.map(0).set(1, 1);
      return 0;
    } catch (const std::runtime_error&) {
      return 1;
    }
  });
  wait_until_asleep(client);
  check(kill(manager.process(), SIGKILL), "kill");
  EXPECT_EQ(cookbook::exit_code_of(client), 1);
}

TEST(shared_state, manager_and_workers_end_with_the_program) {
  for (const test_support::RunOptions& setting :
       {test_support::RunOptions{.interrupt_after_ms = 100}, test_support::RunOptions{.kill_after_ms = 100}}) {
    const auto result = run("shared_state", {"--changes", "10000", "--workers", "64"}, setting);
    EXPECT_EQ(result.exit_code, setting.kill_after_ms > 0 ? -9 : -2) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

}  // namespace

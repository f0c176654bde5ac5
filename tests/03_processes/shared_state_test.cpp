// The program's output, and the manager from inside.

#include "03_processes/shared_state/manager.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <vector>

#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using test_support::run;
using test_support::wait_until_asleep;

TEST(shared_state, add_loses_no_change_whatever_the_number_of_workers) {
  for (const int workers : {1, 2, 64}) {
    const auto result = run("shared_state", {"--workers", std::to_string(workers), "--changes", "20"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string all = std::to_string(20 * workers);
    EXPECT_EQ(
        result.lines_with("^" + std::to_string(workers) + " workers, 20 changes each +ends at +one change$").size(), 1U)
        << result.text();
    EXPECT_THAT(result.captures("^add +(\\d+) +\\d+\\.\\d us$"), testing::ElementsAre(all)) << result.text();
    const auto by_two_requests = result.captures("^get, then set +(\\d+) +\\d+\\.\\d us$");
    ASSERT_EQ(by_two_requests.size(), 1U) << result.text();
    EXPECT_GE(std::stoi(by_two_requests[0]), workers == 1 ? 20 : 1);
    EXPECT_LE(std::stoi(by_two_requests[0]), 20 * workers);
    EXPECT_TRUE(result.has_line("ok    changes that add has lost: 0")) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST(shared_state, get_and_set_lose_changes) {
  for (int attempt = 0; attempt < 50; ++attempt) {  // on a busy machine the workers may run one after the other
    const auto counter = run("shared_state").captures("^get, then set +(\\d+)");
    ASSERT_EQ(counter.size(), 1U);
    if (counter[0] != "2000") return;
  }
  FAIL() << "no change was lost in 50 runs";
}

TEST(shared_state, a_forced_order_loses_exactly_one_change) {
  for (const std::string workers : {"1", "10"}) {
    const auto result = run("shared_state", {"--workers", workers, "--changes", "1"});
    EXPECT_THAT(result.lines_with("^ *[AB] "),
                testing::ElementsAre("A gets 0", "  B gets 0", "  B sets 1", "A sets 1"));
    EXPECT_TRUE(result.has_line("ok    counter after A and B, one change each: 1")) << result.text();
  }
}

TEST(shared_state, the_changes_take_most_of_the_run) {
  const auto start = std::chrono::steady_clock::now();
  const auto result = run("shared_state", {"--changes", "2000"});
  const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
  const auto costs = result.captures("^.+ +(\\d+\\.\\d) us$");
  ASSERT_EQ(costs.size(), 2U) << result.text();
  EXPECT_LE((std::stod(costs[0]) + std::stod(costs[1])) * 20'000, 1.05 * us.count()) << result.text();
  EXPECT_GE((std::stod(costs[0]) + std::stod(costs[1])) * 20'000, 0.6 * us.count()) << result.text();
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

TEST(shared_state, what_ten_workers_write_all_can_read) {
  const Manager manager(11);
  std::vector<pid_t> workers;
  for (int i = 0; i < 10; ++i) workers.push_back(cookbook::start_child([&, i] { manager.map(i).set(i, 2 * i); }));
  for (const pid_t worker : workers) EXPECT_EQ(cookbook::exit_code_of(worker), 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(manager.map(10).get(i), 2 * i);
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
    wait_until_asleep(manager.process());  // in recv, which the signal interrupts
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

TEST(shared_state, the_answer_to_a_worker_that_was_killed_is_not_taken_for_that_to_the_next_one) {
  const Manager manager(2);
  const ManagedMap map = manager.map(0);
  for (long key = 1; key <= 3; ++key) map.set(key, 10 * key);
  for (int round = 0; round < 3; ++round) {
    check(kill(manager.process(), SIGSTOP), "kill");  // so that the worker is killed while it waits for its answer
    const pid_t worker = cookbook::start_child([&] { manager.map(1).get(1); });
    wait_until_asleep(worker);
    check(kill(worker, SIGKILL), "kill");
    EXPECT_EQ(cookbook::exit_code_of(worker), -SIGKILL);
    check(kill(manager.process(), SIGCONT), "kill");
    EXPECT_EQ(map.get(3), 30) << "after this answer, that to the dead worker is there, too";
    for (const long key : {2L, 3L, 2L}) EXPECT_EQ(manager.map(1).get(key), 10 * key);
    EXPECT_THROW(manager.map(1).get(4), std::out_of_range);
  }
}

TEST(shared_state, a_copy_of_a_channel_serves_the_next_process_when_the_one_before_was_killed) {
  const Manager manager(1);
  const ManagedMap map = manager.map(0);  // made here, so both processes have a copy
  map.set(1, 10);
  map.set(2, 20);
  check(kill(manager.process(), SIGSTOP), "kill");
  const pid_t worker = cookbook::start_child([&] { map.get(1); });
  wait_until_asleep(worker);
  check(kill(worker, SIGKILL), "kill");
  EXPECT_EQ(cookbook::exit_code_of(worker), -SIGKILL);
  check(kill(manager.process(), SIGCONT), "kill");
  EXPECT_EQ(cookbook::exit_code_of(cookbook::start_child([&] { return map.get(2) == 20 ? 0 : 1; })), 0);
}

/// The descriptors of this process that were not there before.
std::vector<int> new_files(const std::vector<int>& before) {
  std::vector<int> found;
  for (int file = 0; file < 1'000; ++file) {
    if (fcntl(file, F_GETFD) != -1 && std::find(before.begin(), before.end(), file) == before.end()) {
      found.push_back(file);
    }
  }
  return found;
}

TEST(shared_state, a_client_that_reads_no_answers_holds_up_nobody) {
  const std::vector<int> before = new_files({});
  const Manager manager(2);
  const int requests = new_files(before).at(0);  // the first that the manager has made
  const Request request = {Request::set, 0, 0, 1, 10};
  // Of client 0, in a process that can be killed: far more requests than there is room for answers.
  const pid_t client = cookbook::start_child([&] {
    for (int i = 0; i < 10'000; ++i) {
      if (send(requests, &request, sizeof request, MSG_NOSIGNAL) == -1) return 1;
    }
    return 0;
  });
  const auto code = cookbook::exit_code_of(client, std::chrono::seconds(20));
  EXPECT_EQ(code, 0) << "the manager waits for room for its answers";
  if (!code) {
    check(kill(manager.process(), SIGKILL), "kill");
    check(kill(client, SIGKILL), "kill");
    cookbook::exit_code_of(client);
    return;
  }
  EXPECT_EQ(manager.map(1).get(1), 10);
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

std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST(shared_state, the_manager_leaves_no_socket_open) {
  const std::size_t before = open_files();
  for (int i = 0; i < 3; ++i) Manager(5).map(4).set(1, 1);
  EXPECT_EQ(open_files(), before);
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

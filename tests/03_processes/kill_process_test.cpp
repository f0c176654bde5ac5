// The program's output, its children and stop() from inside.

#define main main_of_the_program  // its functions are tested from inside, too
#include "03_processes/kill_process/kill_process.cpp"
#undef main

#include <sys/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <thread>

#include "cookbook/process.hpp"
#include "one_shot_event.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

TEST(kill_process, the_exit_codes_say_how_each_child_ended) {
  for (const std::string grace : {"0", "50"}) {
    const auto result = run("kill_process", {"--grace-ms", grace});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string after = " +(\\d+\\.\\d) ms +";
    EXPECT_EQ(result.lines_with("^does not handle SIGTERM +10000 ms" + after + "-15   no$").size(), 1U);
    EXPECT_EQ(result.lines_with("^handles SIGTERM +10000 ms" + after + "0   yes$").size(), 1U) << result.text();
    const auto waited = result.captures("^ignores SIGTERM +" + grace + " ms" + after + "-9   no$");
    ASSERT_EQ(waited.size(), 1U) << result.text();
    EXPECT_GE(std::stod(waited[0]), std::stod(grace)) << "it gets its time";
    EXPECT_TRUE(result.has_line("ok    exit codes: [-15, 0, -9]")) << result.text();
    EXPECT_TRUE(result.has_line("ok    clean-ups: 1")) << result.text();
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST(kill_process, its_children_do_not_inherit_that_its_parent_ignores_sigterm) {
  const auto result = run("/bin/sh", {"-c", "trap '' TERM; exec " + test_support::bin() + "/kill_process"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    exit codes: [-15, 0, -9]")) << result.text();
}

TEST(kill_process, joins_its_children_though_its_parent_ignores_sigchld) {
  std::signal(SIGCHLD, SIG_IGN);  // as the program inherits it
  const pid_t child = cookbook::start_child([] {
    execl((test_support::bin() + "/kill_process").c_str(), "kill_process", "--grace-ms", "0", nullptr);
    return 127;
  });
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(cookbook::exit_code_of(child), 0);
}

TEST(kill_process, a_child_that_handles_the_signal_ends_after_its_step_of_10_ms) {
  double shortest = 1e9;
  for (int attempt = 0; attempt < 50 && shortest > 30; ++attempt) {  // on a busy machine it may take longer
    const auto result = run("kill_process", {"--grace-ms", "0"});
    const auto took = result.captures("^handles SIGTERM +10000 ms +(\\d+\\.\\d) ms");
    ASSERT_EQ(took.size(), 1U) << result.text();
    shortest = std::min(shortest, std::stod(took[0]));
  }
  EXPECT_LE(shortest, 30);
}

void handle_late() {
  usleep(300'000);
  handle();
}

TEST(kill_process_worker, is_there_when_it_has_prepared_itself_for_the_signal) {
  const Worker worker(handle_late);
  EXPECT_EQ(stop(worker.child, 20s), 0) << "it was ended before it could handle SIGTERM";
  EXPECT_TRUE(*worker.has_cleaned_up);
}

/// What the page names for is_alive() of Python: whether a child that has not been joined yet still runs. It is only
/// looked at, so that it can be joined later.
bool is_alive(pid_t child) {
  siginfo_t end{};
  check(waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT), "waitid");
  return end.si_pid == 0;
}

TEST(kill_process_is_alive, follows_the_life_of_a_child_until_its_join) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = cookbook::start_child([&] {
    close(ends[1]);
    char byte = 0;
    return static_cast<int>(read(ends[0], &byte, 1));  // until the parent closes its end
  });
  EXPECT_TRUE(is_alive(child));
  EXPECT_TRUE(is_alive(child)) << "it has only been looked at";
  close(ends[1]);
  siginfo_t end{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(is_alive(child));
  EXPECT_EQ(cookbook::exit_code_of(child), 0) << "it could still be joined";
  close(ends[0]);
}

volatile std::sig_atomic_t told = 0;

/// Returns when the child ignores the signal.
pid_t child_that_ignores_sigterm() {
  OneShotEvent begun;
  const pid_t child = cookbook::start_child([&] {
    std::signal(SIGTERM, SIG_IGN);
    begun.give();
    pause();
  });
  begun.wait();
  return child;
}

TEST(kill_process_stop, gives_a_child_its_time_and_kills_it_only_then) {
  const pid_t child = child_that_ignores_sigterm();
  const auto asked = std::chrono::steady_clock::now();
  EXPECT_EQ(stop(child, 30ms), -SIGKILL);
  EXPECT_GE(std::chrono::steady_clock::now() - asked, 30ms);
}

TEST(kill_process_stop, returns_as_soon_as_the_child_has_ended_with_the_child_s_own_exit_code) {
  OneShotEvent begun;
  const pid_t child = cookbook::start_child([&] {
    std::signal(SIGTERM, [](int) { told = 1; });
    begun.give();
    while (!told) usleep(1000);
    return 5;
  });
  begun.wait();
  const auto asked = std::chrono::steady_clock::now();
  EXPECT_EQ(stop(child, 60s), 5);
  EXPECT_LT(std::chrono::steady_clock::now() - asked, 50s);
}

TEST(kill_process_stop, asks_the_process_as_a_whole_so_that_any_of_its_threads_can_handle_the_signal) {
  OneShotEvent begun;
  const pid_t child = cookbook::start_child([&] {
    sigset_t asked;
    sigemptyset(&asked);
    sigaddset(&asked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &asked, nullptr);  // the first thread, and those that it makes
    std::thread handler([&] {
      int signal = 0;
      sigwait(&asked, &signal);
      _exit(5);
    });
    begun.give();
    handler.join();
  });
  begun.wait();
  EXPECT_EQ(stop(child, 10s), 5);
}

TEST(kill_process_stop, goes_on_waiting_when_a_signal_interrupts_it) {
  struct sigaction handle = {}, old;
  handle.sa_handler = [](int) {};  // without SA_RESTART, which does not hold for poll anyway
  check(sigaction(SIGALRM, &handle, &old), "sigaction");
  const pid_t child = child_that_ignores_sigterm();
  const itimerval often = {{0, 5'000}, {0, 5'000}}, never = {};
  const auto asked = std::chrono::steady_clock::now();
  check(setitimer(ITIMER_REAL, &often, nullptr), "setitimer");
  const int code = stop(child, 100ms);
  check(setitimer(ITIMER_REAL, &never, nullptr), "setitimer");
  check(sigaction(SIGALRM, &old, nullptr), "sigaction");
  EXPECT_EQ(code, -SIGKILL);
  const auto waited = std::chrono::steady_clock::now() - asked;
  EXPECT_GE(waited, 100ms);
  EXPECT_LT(waited, 20s) << "the limit is for all of the waiting, not anew after each signal";
}

TEST(kill_process_ends_within, waits_no_longer_than_its_limit) {
  const pid_t child = cookbook::start_child([] { pause(); });
  const int child_fd = check(pidfd_open(child, 0), "pidfd_open");
  auto shortest = std::chrono::steady_clock::duration::max();
  for (int attempt = 0; attempt < 50 && shortest >= 100ms; ++attempt) {  // on a busy machine it may take longer
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(ends_within(child_fd, 50ms));
    shortest = std::min(shortest, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_LT(shortest, 100ms);
  close(child_fd);
  EXPECT_EQ(stop(child, 10s), -SIGTERM);
}

TEST(kill_process_ends_within, does_not_wait_where_no_time_is_left) {
  const pid_t child = cookbook::start_child([] { usleep(200'000); });
  const int child_fd = check(pidfd_open(child, 0), "pidfd_open");
  EXPECT_FALSE(ends_within(child_fd, -5ms)) << "a common deadline may have passed";
  EXPECT_TRUE(ends_within(child_fd, 20s));
  EXPECT_TRUE(ends_within(child_fd, -5ms)) << "it has ended before";
  close(child_fd);
  EXPECT_EQ(cookbook::exit_code_of(child), 0);
}

TEST(kill_process_stop, may_be_called_for_a_child_that_has_ended_already) {
  const pid_t child = cookbook::start_child([] { return 4; });
  while (is_alive(child)) usleep(1000);
  EXPECT_EQ(stop(child, 0ms), 4);
}

std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST(kill_process_stop, leaves_no_descriptor_open) {
  const std::size_t before = open_files();
  for (int i = 0; i < 3; ++i) stop(cookbook::start_child([] { pause(); }), 10s);
  EXPECT_EQ(open_files(), before);
}

TEST(kill_process_pidfd, never_means_another_process) {
  const pid_t child = cookbook::start_child([] {});
  const int process = pidfd_open(child, 0);
  ASSERT_NE(process, -1);
  EXPECT_EQ(cookbook::exit_code_of(child), 0);
  EXPECT_EQ(pidfd_send_signal(process, SIGKILL, nullptr, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  close(process);
}

TEST(kill_process, its_end_leaves_no_child_behind_not_even_one_that_ignores_signals) {
  const auto killed = run("kill_process", {"--grace-ms", "60000"}, {.kill_after_ms = 300});
  EXPECT_EQ(killed.exit_code, -9) << killed.text();
  EXPECT_EQ(killed.leaked_processes, 0);
}

TEST(kill_process_no_cleanup, removes_the_file_itself) {
  const test_support::TemporaryDirectory folder;
  const auto result =
      run("kill_process_no_cleanup", {}, {.environment = {{"TMPDIR", folder.path}}, .may_leave_something = true});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

}  // namespace

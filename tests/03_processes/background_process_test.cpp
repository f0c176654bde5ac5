// The program's output, its functions and daemons from inside.

#include <sys/prctl.h>
#include <unistd.h>

namespace {

/// Not 0: what daemon.hpp asks of the kernel reaches it only after the end of this parent.
pid_t parent_before_the_request = 0;

int late_prctl(int option, int value) {
  while (option == PR_SET_PDEATHSIG && getppid() == parent_before_the_request) usleep(1000);
  return prctl(option, value);
}

}  // namespace

#define main main_of_the_program  // its functions are tested from inside, too
#define prctl late_prctl
#include "03_processes/background_process/background_process.cpp"
#undef prctl
#undef main

#include <pthread.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <vector>

#include "cookbook/process.hpp"
#include "one_shot_event.hpp"
#include "shared_memory.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using testing::ElementsAre;

TEST(background_process, what_becomes_of_each_child) {
  for (const std::string delay : {"1", "50"}) {
    const auto result = run("background_process", {"--delay-ms", delay});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.leaked_processes, 0) << result.text();
    for (const std::string row :
         {"does nothing +works on +works on", "waits for its child +finishes, exit code 0 +works on",
          "kills its child +ended by signal 9 +works on",
          "does nothing, child is a daemon +ended by signal 15 +ended by signal 15"}) {
      EXPECT_EQ(result.lines_with("^" + row + "$").size(), 1U) << row << '\n' << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    children of plain fork that are left behind, of 6: 4")) << result.text();
    EXPECT_TRUE(result.has_line("ok    exit codes where main waits for its child, or kills it: [0, -9]"))
        << result.text();
    EXPECT_TRUE(result.has_line("ok    exit codes of the daemons: [-15, -15]")) << result.text();
  }
}

TEST(background_process, it_kills_main_also_where_its_parent_ignores_all_signals_that_one_can_ignore) {
  const auto result =
      run("/bin/sh", {"-c", "trap '' TERM INT HUP; exec " + test_support::bin() + "/background_process"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
}

bool* child_has_finished = nullptr;

std::optional<int> main_whose_child_notes_its_end(const Work& work, pid_t& child, const Work& do_something) {
  const auto work_and_note = [&] {
    work();
    *child_has_finished = true;
  };
  return main_that_does_nothing(work_and_note, child, do_something);
}

TEST(background_process, a_child_that_is_left_behind_is_ended_although_it_ignores_all_signals_that_one_can_ignore) {
  const Shared<bool> finished(false);
  child_has_finished = &*finished;
  const pid_t tester = cookbook::start_child([&] {
    check(prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl");
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);
    return child_after(main_whose_child_notes_its_end, false, std::chrono::seconds(5), milliseconds(1)) ? 1 : 0;
  });
  EXPECT_EQ(cookbook::exit_code_of(tester), 0) << "the child was to work on after the end of main";
  EXPECT_FALSE(*finished);
}

TEST(background_process, a_main_that_waits_waits) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run("background_process", {"--delay-ms", "300"}).exit_code, 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(300));
}

std::optional<int> main_whose_child_fails(const Work&, pid_t& child, const Work& do_something) {
  child = cookbook::start_child([] { return 1; });
  do_something();
  return cookbook::exit_code_of(child);
}

TEST(background_process, a_child_that_finishes_with_an_error_is_not_among_those_that_are_left_behind) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  // Without a sign from the child, main goes on when all have ended that could give one.
  const auto codes = print_row("fails", main_whose_child_fails, milliseconds(1), milliseconds(100));
  EXPECT_EQ(codes.front(), 1);
  EXPECT_NE(codes.front(), works_on);
}

std::optional<int> main_without_a_child(const Work&, pid_t&, const Work&) { return {}; }

TEST(background_process, a_main_that_has_started_no_child_is_an_error_and_nobody_is_killed_for_it) {
  // In a process group of its own, since a signal to "process 0" goes to the whole group.
  const pid_t tester = cookbook::start_child([&] {
    check(setpgid(0, 0), "setpgid");
    try {
      child_after(main_without_a_child, false, milliseconds(1), milliseconds(1));
      return 1;
    } catch (const std::logic_error&) {
      return 0;
    }
  });
  EXPECT_EQ(cookbook::exit_code_of(tester), 0);
}

TEST(background_process_start_daemon, one_that_finishes_before_its_parent_exits_by_itself) {
  const Shared<int> finished(0);
  EXPECT_EQ(cookbook::exit_code_of(start_daemon([&] { *finished = 1; })), 0);
  EXPECT_EQ(*finished, 1);
}

/// Ends a daemon by SIGTERM that has started a child by `start`. The child, which has become one of this process.
pid_t child_of_an_ended_daemon(const std::function<pid_t()>& start) {
  check(prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl");  // so that it becomes a child of this process
  const Shared<pid_t> child;
  OneShotEvent begun;
  const pid_t daemon = start_daemon([&] {
    const pid_t started = start();
    if (started != 0) {  // not after a fork in the child itself
      *child = started;
      begun.give();
    }
    sleep(10);
  });
  begun.wait();
  check(kill(daemon, SIGTERM), "kill");
  EXPECT_EQ(cookbook::exit_code_of(daemon), -SIGTERM);
  return *child;
}

TEST(background_process_start_daemon, a_daemon_s_own_daemon_ends_with_it) {
  const pid_t inner = child_of_an_ended_daemon([] { return start_daemon([] { sleep(10); }); });
  ASSERT_GT(inner, 0);
  EXPECT_EQ(cookbook::exit_code_of(inner), -SIGTERM);
}

TEST(background_process_start_daemon, a_daemon_s_child_of_plain_fork_is_left_behind) {
  const pid_t child = child_of_an_ended_daemon(fork);
  ASSERT_GT(child, 0);
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "it runs";
  ASSERT_EQ(kill(child, SIGKILL), 0);
  EXPECT_EQ(cookbook::exit_code_of(child), -SIGKILL);
}

/// A main program in a process of its own starts a child and ends, by its return or by a signal. How both ended.
template <typename Start>
std::vector<int> exit_codes_of_main_and_child(Start start, int signal) {
  EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // the child becomes a child of this process
  const Shared<pid_t> child;
  const pid_t main_program = cookbook::start_child([&] {
    OneShotEvent begun;
    *child = start(begun);
    begun.wait();
    if (signal != 0) raise(signal);
  });
  const int code = cookbook::exit_code_of(main_program);
  return {code, cookbook::exit_code_of(*child)};
}

TEST(background_process_start_daemon, the_kernel_ends_the_daemon_however_main_ends) {
  const auto start = [](const OneShotEvent& begun) {
    return start_daemon([&] {
      begun.give();
      sleep(10);
    });
  };
  EXPECT_THAT(exit_codes_of_main_and_child(start, 0), ElementsAre(0, -SIGTERM));
  EXPECT_THAT(exit_codes_of_main_and_child(start, SIGKILL), ElementsAre(-SIGKILL, -SIGTERM));
}

TEST(background_process_end_with_parent, ends_a_child_that_asks_too_late) {
  const auto start = [](const OneShotEvent& begun) {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child != 0) return child;
    begun.give();
    while (getppid() == parent) usleep(1000);  // until the parent has ended
    end_with_parent(parent);
    _exit(7);
  };
  EXPECT_THAT(exit_codes_of_main_and_child(start, SIGKILL), ElementsAre(-SIGKILL, -SIGTERM));
}

pid_t parent_that_has_to_end = 0;

TEST(background_process_start_daemon, ends_a_daemon_whose_parent_ended_right_after_the_fork) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const Shared<pid_t> daemon;
  const pid_t main_program = cookbook::start_child([&] {
    // This handler runs in the daemon before fork returns there.
    pthread_atfork(nullptr, nullptr, [] {
      while (getppid() == parent_that_has_to_end) usleep(1000);
    });
    parent_that_has_to_end = getpid();
    *daemon = start_daemon([] { _exit(7); });
  });
  EXPECT_EQ(cookbook::exit_code_of(main_program), 0);
  EXPECT_EQ(cookbook::exit_code_of(*daemon), -SIGTERM);
}

TEST(background_process_start_daemon, ends_a_daemon_whose_parent_ended_right_before_the_request) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const Shared<pid_t> daemon;
  const pid_t main_program = cookbook::start_child([&] {
    parent_before_the_request = getpid();
    *daemon = start_daemon([] { _exit(7); });
  });
  EXPECT_EQ(cookbook::exit_code_of(main_program), 0);
  EXPECT_EQ(cookbook::exit_code_of(*daemon), -SIGTERM) << "it has looked for its parent before it made the request";
}

/// What a main program may do with SIGTERM before it starts a daemon.
const std::vector<std::function<void()>> ways_with_sigterm = {
    [] { std::signal(SIGTERM, [](int) {}); },
    [] { std::signal(SIGTERM, SIG_IGN); },
    [] {
      const sigset_t sigterm = only_sigterm();
      check_error(pthread_sigmask(SIG_BLOCK, &sigterm, nullptr), "pthread_sigmask");
    },
};

TEST(background_process_start_daemon, the_kernel_ends_the_daemon_of_a_main_that_handles_ignores_or_blocks_sigterm) {
  for (const auto& prepare : ways_with_sigterm) {
    const auto start = [&](const OneShotEvent& begun) {
      prepare();
      return start_daemon([&] {
        begun.give();
        sleep(5);
      });
    };
    EXPECT_THAT(exit_codes_of_main_and_child(start, SIGKILL), ElementsAre(-SIGKILL, -SIGTERM));
  }
}

std::atomic<bool>* sigterm_was_sent = nullptr;

TEST(background_process_start_daemon, such_a_main_ends_it_as_soon_as_it_is_started_and_goes_on_as_before) {
  for (const auto& prepare : ways_with_sigterm) {
    const Shared<std::atomic<bool>> sent(false);
    sigterm_was_sent = &*sent;
    const pid_t main_program = cookbook::start_child([&] {
      const sigset_t sigterm = only_sigterm();  // whatever other tests have left
      pthread_sigmask(SIG_UNBLOCK, &sigterm, nullptr);
      prepare();
      // This handler runs in the daemon before fork returns there.
      pthread_atfork(nullptr, nullptr, [] {
        while (!*sigterm_was_sent) usleep(1000);
      });
      struct sigaction before, after;
      sigset_t blocked_before, blocked_after;
      sigaction(SIGTERM, nullptr, &before);
      pthread_sigmask(SIG_BLOCK, nullptr, &blocked_before);
      const pid_t daemon = start_daemon([] { sleep(5); });
      check(kill(daemon, SIGTERM), "kill");
      *sent = true;
      if (cookbook::exit_code_of(daemon) != -SIGTERM) return 1;
      sigaction(SIGTERM, nullptr, &after);
      pthread_sigmask(SIG_BLOCK, nullptr, &blocked_after);
      const bool as_before = before.sa_handler == after.sa_handler &&
                             sigismember(&blocked_before, SIGTERM) == sigismember(&blocked_after, SIGTERM);
      return as_before ? 0 : 2;
    });
    EXPECT_EQ(cookbook::exit_code_of(main_program), 0) << "1: the daemon went on; 2: main takes SIGTERM differently";
  }
}

int* clean_ups = nullptr;

TEST(background_process_start_daemon, a_daemon_that_has_finished_does_not_do_its_parent_s_clean_up) {
  const Shared<int> made(0);
  clean_ups = &*made;
  const pid_t main_program = cookbook::start_child([] {  // ends without a clean-up of its own
    if (std::atexit([] { ++*clean_ups; }) != 0) return 1;
    return cookbook::exit_code_of(start_daemon([] {}));
  });
  EXPECT_EQ(cookbook::exit_code_of(main_program), 0);
  EXPECT_EQ(*made, 0);
}

TEST(background_process_start_daemon, an_exception_ends_the_daemon) {
  EXPECT_EQ(cookbook::exit_code_of(start_daemon([] { throw std::runtime_error("must not leave the daemon"); })),
            -SIGABRT);
}

TEST(background_process, killed_or_interrupted_it_leaves_nothing_behind) {
  const auto killed = run("background_process", {"--delay-ms", "10000"}, {.kill_after_ms = 100});
  EXPECT_EQ(killed.exit_code, -9) << killed.text();
  EXPECT_EQ(killed.leaked_processes, 0);
  const auto interrupted = run("background_process", {"--delay-ms", "10000"}, {.interrupt_after_ms = 100});
  EXPECT_EQ(interrupted.exit_code, -2) << interrupted.text();
  EXPECT_EQ(interrupted.leaked_processes, 0);
}

TEST(background_process_one_shot_event, says_whether_the_sign_has_come_or_will_not_come_any_more) {
  for (const bool gives : {true, false}) {
    OneShotEvent event;
    const pid_t child = cookbook::start_child([&] {
      if (gives) event.give();
    });
    EXPECT_EQ(event.wait(), gives);
    EXPECT_EQ(cookbook::exit_code_of(child), 0);
  }
}

}  // namespace

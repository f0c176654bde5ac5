// The program's output, and RecoveringPool from inside: its workers are killed wherever they are.

#include <poll.h>

#include <functional>
#include <utility>

namespace {

std::function<void(pollfd*)> before_poll;  // called once, by a process that is about to wait for its workers

int poll_late(pollfd* files, nfds_t count, int timeout_ms) {
  if (const auto call = std::exchange(before_poll, nullptr)) call(files);
  return poll(files, count, timeout_ms);
}

}  // namespace

#define poll poll_late
#include "03_processes/process_pool_recovery/recovering_pool.hpp"
#undef poll

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <thread>

#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "support/run.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;

struct Board {
  std::atomic<int> begun[1000] = {};
  std::atomic<long> worker = 0;        // the process that has begun a task last
  std::atomic<long> victim = 0;        // the same if nobody had begun that task before, else 0
  std::atomic<long> sleepers[3] = {};  // processes that tasks have started
};
Board* board = nullptr;  // in shared memory

std::vector<long> numbers_up_to(long end) {
  std::vector<long> numbers(end);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<long> squares_up_to(long end) {
  std::vector<long> squares = numbers_up_to(end);
  for (long& value : squares) value *= value;
  return squares;
}

long square(long x) {
  const bool is_first = ++board->begun[x] == 1;
  board->worker = getpid();
  board->victim = is_first ? getpid() : 0;
  return x * x;
}

long square_slowly(long x) {
  const long result = square(x);
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  return result;
}

int begun_in_all() {
  int all = 0;
  for (const std::atomic<int>& count : board->begun) all += count;
  return all;
}

class process_pool_recovery : public testing::Test {
 protected:
  process_pool_recovery() { board = &*shared_; }

 private:
  const Shared<Board> shared_;
};

TEST_F(process_pool_recovery, any_number_of_workers_will_do) {
  for (const int processes : {1, 4, 32}) {
    const auto result = run("process_pool_recovery", {"--processes", std::to_string(processes)}, {.limit = 10s});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    for (const std::string row : {"one queue: ten tasks kill a worker each +100   90 results, waits for more",
                                  "this pool: ten tasks kill a worker each +110   100 results",
                                  "this pool: task 5 kills each worker +102   task 5: 3 workers died at it"}) {
      EXPECT_EQ(result.lines_with("^" + row + "$").size(), 1U) << row << '\n' << result.text();
    }
    for (const std::string line :
         {"results that the queue lost: 10", "this pool: all squares are right after ten deaths: yes",
          "attempts: [100, 110, 102]"}) {
      EXPECT_TRUE(result.has_line("ok    " + line)) << line << '\n' << result.text();
    }
    EXPECT_EQ(result.leaked_processes, 0);
  }
}

TEST_F(process_pool_recovery,
       its_tasks_kill_their_workers_also_where_the_parent_ignores_all_signals_that_one_can_ignore) {
  const auto result =
      run("/bin/sh", {"-c", "trap '' TERM INT HUP; exec " + test_support::bin() + "/process_pool_recovery"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    attempts: [100, 110, 102]")) << result.text();
}

TEST_F(process_pool_recovery, no_task_is_lost_or_given_twice_when_workers_are_killed_from_outside) {
  constexpr int kills = 20;
  const pid_t killer = cookbook::start_child([&] {
    for (int i = 0; i < kills; ++i) {
      const int before = begun_in_all();
      long victim = 0;  // nobody is killed at a task that is begun once more: after three deaths it would be given up
      while (victim == 0) {
        if (begun_in_all() >= 950) return;
        if (begun_in_all() >= before + 20) victim = board->victim;
        std::this_thread::yield();
      }
      kill(static_cast<pid_t>(victim), SIGKILL);  // at its task, or just after it
    }
  });
  RecoveringPool pool(4, square_slowly);
  EXPECT_EQ(pool.map(numbers_up_to(1000)), squares_up_to(1000));
  EXPECT_EQ(cookbook::exit_code_of(killer), 0);
  EXPECT_GE(begun_in_all(), 1000);
  EXPECT_LE(begun_in_all(), 1000 + kills);
}

TEST_F(process_pool_recovery, a_worker_that_dies_between_two_maps_is_replaced) {
  RecoveringPool pool(1, square);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(pool.map(numbers_up_to(10)), squares_up_to(10));
    check(kill(static_cast<pid_t>(board->worker), SIGKILL), "kill");
  }
  EXPECT_EQ(pool.map(numbers_up_to(10)), squares_up_to(10));
}

TEST_F(process_pool_recovery, a_death_without_a_task_does_not_count_at_the_next_task) {
  RecoveringPool pool(1, [](long x) {
    square(x);
    if (x == 5 && board->begun[5] < RecoveringPool::max_deaths) raise(SIGKILL);
    return x * x;
  });
  EXPECT_EQ(pool.map({1}), std::vector<long>{1});
  const auto worker = static_cast<pid_t>(board->worker);
  check(kill(worker, SIGKILL), "kill");
  siginfo_t ended = {};
  check(waitid(P_PID, static_cast<id_t>(worker), &ended, WEXITED | WNOWAIT), "waitid");
  EXPECT_EQ(pool.map({5}), std::vector<long>{25});
  EXPECT_EQ(board->begun[5], RecoveringPool::max_deaths);
}

TEST_F(process_pool_recovery, a_task_is_not_repeated_if_its_worker_is_killed_after_it_has_sent_the_result) {
  before_poll = [](pollfd* socket_and_pidfd) {
    EXPECT_EQ(poll(socket_and_pidfd, 1, 10'000), 1) << "no result";
    EXPECT_EQ(kill(static_cast<pid_t>(board->worker), SIGKILL), 0);
    EXPECT_EQ(poll(socket_and_pidfd + 1, 1, 10'000), 1) << "no death";
  };
  RecoveringPool pool(1, square);
  EXPECT_EQ(pool.map({3}), std::vector<long>{9});
  EXPECT_EQ(board->begun[3], 1);
}

TEST_F(process_pool_recovery, a_task_that_kills_is_given_up_and_the_others_are_done) {
  RecoveringPool pool(2, [](long x) {
    if (x == 5) raise(SIGKILL);
    return square(x);
  });
  EXPECT_THROW(pool.map(numbers_up_to(100)), std::runtime_error);
  EXPECT_EQ(begun_in_all(), 99);
  EXPECT_EQ(pool.map({6, 7}), (std::vector<long>{36, 49}));
  EXPECT_THROW(pool.map({5}), std::runtime_error);
}

TEST_F(process_pool_recovery, the_error_names_the_first_task_that_was_given_up_by_its_argument) {
  RecoveringPool pool(1, [](long x) {
    if (x > 7) raise(SIGKILL);
    return square(x);
  });
  try {
    pool.map({7, 8, 9});
    ADD_FAILURE() << "no task was given up";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "task 8: 3 workers died at it");
  }
}

TEST_F(process_pool_recovery, the_task_of_a_dead_worker_comes_before_those_that_wait) {
  const auto die_at_the_first = [](long x) {
    const long result = square(x);
    if (x == 0 && board->begun[0] == 1) raise(SIGKILL);
    return board->begun[0] == 2 ? result : -1;  // -1: the task has come before the first one was begun again
  };
  RecoveringPool pool(1, die_at_the_first);
  EXPECT_EQ(pool.map(numbers_up_to(10)), squares_up_to(10));
}

TEST_F(process_pool_recovery, if_all_workers_die_each_task_is_tried_three_times_and_no_more_workers_are_started) {
  RecoveringPool pool(4, [](long x) {
    square(x);
    raise(SIGKILL);
    return x;
  });
  EXPECT_THROW(pool.map(numbers_up_to(20)), std::runtime_error);
  for (int task = 0; task < 20; ++task) EXPECT_EQ(board->begun[task], 3);
  EXPECT_EQ(pool.map({}), std::vector<long>());
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // the dead have been waited for, and nobody has been started since
}

TEST_F(process_pool_recovery, a_death_is_noticed_although_a_process_that_the_task_has_started_holds_the_socket_open) {
  RecoveringPool pool(2, [](long x) {
    const int begun = board->begun[x]++;
    if (x != 5) return x * x;
    const pid_t child = fork();
    if (child == 0) {
      std::this_thread::sleep_for(20s);
      _exit(0);
    }
    board->sleepers[begun] = child;
    raise(SIGKILL);
    return 0L;
  });
  EXPECT_THROW(pool.map(numbers_up_to(10)), std::runtime_error);
  EXPECT_EQ(board->begun[5], 3);
  for (const std::atomic<long>& sleeper : board->sleepers) {
    ASSERT_GT(sleeper, 0);
    EXPECT_EQ(kill(static_cast<pid_t>(sleeper), SIGKILL), 0) << "it has ended, and only then was the death noticed";
    // After a call of run(), orphans become children of this process: then it has to be waited for.
    waitpid(static_cast<pid_t>(sleeper), nullptr, 0);
  }
}

TEST_F(process_pool_recovery, a_worker_that_closes_its_socket_is_replaced_even_if_it_ignores_signals) {
  RecoveringPool pool(1, [](long x) {
    if (board->begun[x]++ == 0) {
      for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_IGN);
      for (int file = 3; file < 100; ++file) close(file);
      std::this_thread::sleep_for(20s);
    }
    return x * x;
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(pool.map({3}), std::vector<long>{9});
  EXPECT_LT(std::chrono::steady_clock::now() - start, 15s);
}

std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST_F(process_pool_recovery, no_descriptor_is_left_however_many_workers_have_died) {
  const std::size_t before = open_files();
  {
    RecoveringPool pool(2, [](long x) {
      if (board->begun[x]++ == 0) raise(SIGKILL);
      return x * x;
    });
    EXPECT_EQ(pool.map(numbers_up_to(20)), squares_up_to(20));
    EXPECT_LE(open_files(), before + 4) << "a socket and a pidfd for each of two workers";
  }
  EXPECT_EQ(open_files(), before);
}

double processor_seconds() {
  rusage used = {};
  check(getrusage(RUSAGE_SELF, &used), "getrusage");
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/// It would look again and again if it waited for something that is always there, such as the end of standard input.
TEST_F(process_pool_recovery, sleeps_while_one_worker_has_work_and_another_has_died_and_is_not_needed) {
  const int input = check(dup(STDIN_FILENO), "dup"), empty = check(open("/dev/null", O_RDONLY | O_CLOEXEC), "open");
  check(dup2(empty, STDIN_FILENO), "dup2");
  {
    RecoveringPool pool(2, [](long x) {
      if (x == 0) raise(SIGKILL);
      std::this_thread::sleep_for(1s);
      return x * x;
    });
    const double before = processor_seconds();
    EXPECT_THROW(pool.map({1, 0}), std::runtime_error);
    EXPECT_LT(processor_seconds() - before, 0.3);
  }
  check(dup2(input, STDIN_FILENO), "dup2");
  close(input);
  close(empty);
}

TEST_F(process_pool_recovery, no_worker_is_left_when_the_pool_is_destroyed) {
  {
    RecoveringPool pool(4, square);
    pool.map(numbers_up_to(10));
    check(kill(static_cast<pid_t>(board->worker), SIGKILL), "kill");
    pool.map(numbers_up_to(10));
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace

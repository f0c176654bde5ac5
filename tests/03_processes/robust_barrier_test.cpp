// The program's output, and RobustBarrier from inside: processes die before it, in it and with its lock.

#include <pthread.h>

#include <chrono>
#include <thread>
#include <utility>

#include "03_processes/robust_mutex.hpp"

/// How long the next unlock of this process takes after the lock is free.
inline std::chrono::milliseconds delay_after_unlock{0};

inline int slow_unlock(pthread_mutex_t* mutex) {
  const int error = pthread_mutex_unlock(mutex);
  std::this_thread::sleep_for(std::exchange(delay_after_unlock, std::chrono::milliseconds(0)));
  return error;
}

#define pthread_mutex_unlock slow_unlock
#include "03_processes/robust_barrier/robust_barrier.hpp"
#undef pthread_mutex_unlock

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "cookbook/process.hpp"
#include "shared_memory.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::run;
using test_support::wait_until_asleep;
using Clock = std::chrono::steady_clock;

/// A child that waits at the barrier and has fallen asleep there; its exit code is 0 if all come.
pid_t start_sleeper(RobustBarrier& barrier, std::chrono::nanoseconds timeout = 20s) {
  const pid_t child = cookbook::start_child([&, timeout] { return barrier.wait_for(timeout) ? 0 : 1; });
  wait_until_asleep(child);
  return child;
}

TEST(robust_barrier, three_pass_and_a_death_breaks_it) {
  const auto result = run("robust_barrier", {}, {.limit = 10s});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  const std::string broken = "broken after (\\d+\\.\\d) ms";
  EXPECT_EQ(result.lines_with("^nobody dies +1 h +passes +passes +passes$").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^B dies while it waits +1 h +passes +killed +passes$").size(), 1U) << result.text();
  for (const std::string row : {"B dies with the lock +1 h", "  and C comes at once +1 h", "B dies on its way +50 ms",
                                "  and the next phase +50 ms"}) {
    const auto told_a = result.captures("^" + row + " +" + broken + " +(?:killed|dead) +broken");
    const auto told_c = result.captures("^" + row + " +broken after \\S+ ms +(?:killed|dead) +" + broken + "$");
    ASSERT_EQ(told_a.size() + told_c.size(), 2U) << row << '\n' << result.text();
    if (row.ends_with("ms")) {
      EXPECT_GE(std::stod(told_a[0]), 50) << "by the time limit";
    }
    EXPECT_LT(std::stod(told_a[0]), 9'000) << "and not after an hour";
  }
  EXPECT_EQ(result.lines_with("^  at pthread_barrier_t +none +waits after 100 ms +killed +waits after 100 ms$").size(),
            1U);
  EXPECT_TRUE(result.has_line("ok    A and C are told what is expected, in each row: yes")) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
}

TEST(robust_barrier, one_that_comes_to_a_broken_barrier_is_told_at_once) {
  const Shared<RobustBarrier> barrier(2);
  EXPECT_FALSE(barrier->wait_for(1ms));
  const auto start = Clock::now();
  EXPECT_FALSE(barrier->wait_for(20s));
  EXPECT_LT(Clock::now() - start, 10s);
}

TEST(robust_barrier, nobody_begins_a_phase_before_all_have_ended_the_last_one_and_sleepers_are_woken_at_once) {
  constexpr int parties = 3, phases = 1000;
  struct Board {
    RobustBarrier barrier{parties};
    std::atomic<int> ended[parties] = {};
  };
  const Shared<Board> board;
  const auto start = Clock::now();
  std::vector<pid_t> children;
  for (int self = 0; self < parties; ++self) {
    children.push_back(cookbook::start_child([&] {
      for (int phase = 1; phase <= phases; ++phase) {
        board->ended[self] = phase;
        if (!board->barrier.wait_for(20s)) return 1;
        for (const std::atomic<int>& other : board->ended) {
          if (other < phase) return 2;
        }
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(cookbook::exit_code_of(child), 0);
  EXPECT_LT(Clock::now() - start, phases * RobustBarrier::look_again / 2);  // if they only looked
}

TEST(robust_barrier, who_does_not_come_in_time_breaks_it_for_all_and_for_ever) {
  const Shared<RobustBarrier> barrier(3);
  const pid_t other = start_sleeper(*barrier);
  const auto start = Clock::now();
  EXPECT_FALSE(barrier->wait_for(10ms));
  EXPECT_GE(Clock::now() - start, 10ms);
  EXPECT_EQ(cookbook::exit_code_of(other), 1);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(barrier->wait_for(20s));
  EXPECT_LT(Clock::now() - start, 15s);
}

TEST(robust_barrier, a_sleeper_is_woken_when_the_barrier_breaks_and_need_not_look_again) {
  Clock::duration shortest = 1h;
  for (int round = 0; round < 5; ++round) {
    const Shared<RobustBarrier> barrier(3);
    const pid_t sleeper = start_sleeper(*barrier);
    EXPECT_FALSE(barrier->wait_for(1ms));
    const auto broken = Clock::now();
    EXPECT_EQ(cookbook::exit_code_of(sleeper), 1);
    shortest = std::min(shortest, Clock::now() - broken);
  }
  EXPECT_LT(shortest, RobustBarrier::look_again / 2);
}

TEST(robust_barrier, one_that_is_about_to_sleep_when_the_phase_ends_does_not_miss_it) {
  Clock::duration shortest = 1h;
  for (int round = 0; round < 5; ++round) {
    const Shared<RobustBarrier> barrier(2);
    const pid_t other = cookbook::start_child([&] {
      delay_after_unlock = 20ms;  // between its unlock and its sleep
      return barrier->wait_for(20s) ? 0 : 1;
    });
    while (barrier->waiting() == 0) std::this_thread::yield();
    const auto start = Clock::now();
    EXPECT_TRUE(barrier->wait_for(20s));
    EXPECT_EQ(cookbook::exit_code_of(other), 0);
    shortest = std::min(shortest, Clock::now() - start);
  }
  EXPECT_LT(shortest, RobustBarrier::look_again * 3 / 4) << "it has slept until it looked again";
}

// From Python's row: the ones that are left wait for ever, although each has a time limit of 50 ms.
TEST(robust_barrier_python, a_death_while_waiting_or_with_the_lock_holds_all_others_for_ever) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  const std::string script = R"(
import multiprocessing, os, signal, sys, time
barrier = multiprocessing.get_context("fork").Barrier(3)
def start(work):
    pid = os.fork()
    if pid == 0:
        try: work()
        except Exception: pass
        os._exit(0)
    return pid
def lock_and_die():
    barrier._cond.acquire()
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "waits":
    dead = start(barrier.wait)
    while barrier.n_waiting == 0: time.sleep(0.01)
    time.sleep(0.2)
    os.kill(dead, signal.SIGKILL)
    os.waitpid(dead, 0)
elif sys.argv[1] == "locks":
    os.waitpid(start(lock_and_die), 0)
others = [start(lambda: barrier.wait(0.05)) for i in range(1 if sys.argv[1] == "nobody" else 2)]
left = set(others)
for i in range(200 if sys.argv[1] == "nobody" else 20):
    left = {other for other in left if os.waitpid(other, os.WNOHANG)[0] == 0}
    if not left: break
    time.sleep(0.05)
print(len(left), "wait")
for other in left: os.kill(other, signal.SIGKILL)
)";
  for (const auto& [death, wait] :
       {std::pair<std::string, std::string>{"nobody", "0 wait"}, {"waits", "2 wait"}, {"locks", "2 wait"}}) {
    const auto result = run("/usr/bin/python3", {"-c", script, death}, {.limit = 20s});
    EXPECT_EQ(result.out, std::vector<std::string>{wait}) << death << '\n' << result.text();
  }
}

TEST(robust_barrier, a_sleeper_learns_of_a_party_that_dies_with_the_lock) {
  const Shared<RobustBarrier> barrier(3);
  const pid_t one = start_sleeper(*barrier), two = start_sleeper(*barrier);
  const auto start = Clock::now();
  EXPECT_EQ(cookbook::exit_code_of(cookbook::start_child([&] {
              barrier->lock();
              raise(SIGKILL);
            })),
            -SIGKILL);
  EXPECT_EQ(cookbook::exit_code_of(one), 1);
  EXPECT_EQ(cookbook::exit_code_of(two), 1);
  EXPECT_LT(Clock::now() - start, 10s);  // long before their time is over
}

TEST(robust_barrier, one_that_comes_after_a_death_with_the_lock_is_told_at_once_and_wakes_the_sleepers) {
  Clock::duration shortest = 1h;
  for (int round = 0; round < 5; ++round) {
    const Shared<RobustBarrier> barrier(3);
    const pid_t sleeper = start_sleeper(*barrier);
    EXPECT_EQ(cookbook::exit_code_of(cookbook::start_child([&] {
                barrier->lock();
                raise(SIGKILL);
              })),
              -SIGKILL);
    EXPECT_FALSE(barrier->wait_for(20s));
    const auto told = Clock::now();
    EXPECT_EQ(cookbook::exit_code_of(sleeper), 1);
    shortest = std::min(shortest, Clock::now() - told);
  }
  EXPECT_LT(shortest, RobustBarrier::look_again / 2);
}

TEST(robust_barrier, a_sleeper_that_is_killed_still_counts_and_is_missed_in_the_next_phase) {
  const Shared<RobustBarrier> barrier(3);
  const pid_t dead = start_sleeper(*barrier);
  check(kill(dead, SIGKILL), "kill");
  EXPECT_EQ(cookbook::exit_code_of(dead), -SIGKILL);
  const pid_t other = start_sleeper(*barrier);
  EXPECT_TRUE(barrier->wait_for(20s));
  EXPECT_EQ(cookbook::exit_code_of(other), 0);
  const pid_t next = start_sleeper(*barrier);
  EXPECT_FALSE(barrier->wait_for(1ms));
  EXPECT_EQ(cookbook::exit_code_of(next), 1);
}

TEST(robust_barrier, who_asks_how_many_wait_takes_the_lock) {
  const Shared<RobustBarrier> barrier(2);
  barrier->lock();
  const pid_t asker = cookbook::start_child([&] { return barrier->waiting(); });
  wait_until_asleep(asker);
  EXPECT_EQ(test_support::state_of(asker), 'S') << "it has not waited for the lock";
  barrier->unlock();
  EXPECT_EQ(cookbook::exit_code_of(asker), 0);
}

TEST(robust_barrier_futex, a_wait_ends_quietly_if_the_number_has_changed_or_the_time_is_over) {
  const FutexWord word = 7;
  futex_wait(word, 6, 20s);
  futex_wait(word, 7, 1ms);
  futex_wait(word, 7, 0ms);
  futex_wait(word, 7, -1ms);
  futex_wait(word, 7, -20s);
}

TEST(robust_barrier_futex, what_the_kernel_refuses_ends_the_program_with_a_message) {
  void* const nothing = mmap(nullptr, sizeof(FutexWord), PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(nothing, MAP_FAILED);
  const FutexWord& word = *static_cast<FutexWord*>(nothing);
  EXPECT_EXIT(futex_wait(word, 0, 1s), testing::ExitedWithCode(3), "futex in line [0-9]+: Bad address");
  EXPECT_EXIT(futex_wake(word), testing::ExitedWithCode(3), "futex in line [0-9]+: Bad address");
  munmap(nothing, sizeof(FutexWord));
}

}  // namespace

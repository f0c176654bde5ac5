// The program's output, its measurement, and both spin locks from inside.

#include <atomic>
#include <ctime>
#include <thread>

namespace noted {

using namespace std;

inline thread_local long looks = 0, pauses = 0;  // loads of an atomic variable, and pauses, by this thread
// Of the thread that was the last to yield for the first time.
inline std::atomic<long> looks_before_first_yield = 0, pauses_before_first_yield = 0;

inline void pause() { ++pauses; }

/// In place of std::atomic.
template <typename T>
class atomic : public std::atomic<T> {
 public:
  atomic(T value) : std::atomic<T>(value) {}
  T load(memory_order order) const {
    ++looks;
    return std::atomic<T>::load(order);
  }
};

namespace this_thread {

inline void yield() {
  static thread_local bool first = true;
  if (first) looks_before_first_yield = looks, pauses_before_first_yield = pauses;
  first = false;
  std::this_thread::yield();
}

}  // namespace this_thread

}  // namespace noted

#define std noted
#define __builtin_ia32_pause noted::pause
#include "02_threads/spin_lock/spin_lock.hpp"
#undef __builtin_ia32_pause
#undef std

/// Takes the place of clock_gettime() in the program: a processor has worked 1000 s for each thread before it asks for
/// the first time, and 7 s more whenever it asks again.
static int noted_clock_gettime(clockid_t clock, timespec* time) {
  static thread_local long seconds = 1'000;
  if (clock != CLOCK_THREAD_CPUTIME_ID) return -1;
  *time = {seconds, 500'000'000};
  seconds += 7;
  return 0;
}

#include <atomic>
#include <vector>

#include "cookbook/measure.hpp"

namespace cookbook {

inline std::atomic<double> last_limit = -1;  // in seconds, with which a time was compared
inline std::vector<double> limits;           // the last one before each series of measured times was looked at

/// What a watch tells: a number of seconds that notes the limit with which it is compared.
struct NotedSeconds {
  double value;
  operator double() const { return value; }
  friend bool operator>(const NotedSeconds& time, double limit) {
    last_limit = limit;
    return time.value > limit;
  }
};

class NotedStopwatch {
 public:
  NotedSeconds seconds() const { return {watch_.seconds()}; }

 private:
  Stopwatch watch_;
};

inline Timing noted_timing_of(const std::vector<double>& seconds) {
  limits.push_back(last_limit);
  return timing_of(seconds);
}

}  // namespace cookbook

#define main main_of_the_program  // its functions are tested from inside, too
#define clock_gettime noted_clock_gettime
#define timing_of noted_timing_of
#define Stopwatch NotedStopwatch
#include "02_threads/spin_lock/spin_lock.cpp"
#undef Stopwatch
#undef timing_of
#undef clock_gettime
#undef main

#include <mutex>
#include <set>
#include <string>

#include "02_threads/counted_yields.hpp"
#include "cookbook/affinity.hpp"
#include "support/eventually.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(spin_lock, holds_for_any_number_of_threads_and_rounds) {
  for (const int threads : {1, 2, 3, 16}) {
    for (const int rounds : {1, 10'000}) {
      const auto result = run("spin_lock", {"--threads", std::to_string(threads), "--rounds", std::to_string(rounds)});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_TRUE(
          result.has_line("ok    additions under the SpinLock that were counted: " + std::to_string(threads * rounds)))
          << result.text();
    }
  }
}

TEST(spin_lock, a_processors_work_for_a_wait_is_what_it_has_done_for_the_thread_from_lock_to_its_return) {
  std::jthread([] { EXPECT_DOUBLE_EQ(processor_seconds(), 1'000.5); }).join();
  EXPECT_DOUBLE_EQ(wait_for_it<std::mutex>(1, 0).processor, 7);
  EXPECT_DOUBLE_EQ(wait_for_it<SpinLock>(1, 0).processor, 7);
  EXPECT_DOUBLE_EQ(median_wait<SpinLock>(1, 0).processor, 7);
}

TEST(spin_lock, the_lock_is_held_for_as_long_as_the_row_says_after_another_thread_has_come_for_it) {
  EXPECT_GE(wait_for_it<std::mutex>(1, 0.02).until_unlock, 0.02);
  EXPECT_GE(wait_for_it<SpinLock>(2, 0.02).until_unlock, 0.02);
  EXPECT_GE(median_wait<SpinLock>(2, 0.005).until_unlock, 0.005);
}

/// A mutex whose second lock() returns 50 ms after it has taken the lock.
struct LateMutex : std::mutex {
  std::atomic<int> calls = 0;
  void lock() {
    const bool late = ++calls == 2;
    std::mutex::lock();
    if (late) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
};

TEST(spin_lock, the_time_until_the_unlock_ends_where_the_time_after_it_begins) {
  const cookbook::Stopwatch watch;
  const Wait wait = wait_for_it<LateMutex>(2, 0.01);
  EXPECT_LE(wait.until_unlock + wait.after_unlock, watch.seconds());
  EXPECT_GE(wait.until_unlock, 0.01);
  EXPECT_GE(wait.after_unlock, 0.05);
}

TEST(spin_lock, both_locks_are_held_for_as_long_as_the_row_says) {
  cookbook::limits.clear();
  std::string name = "spin_lock";
  char* arguments[] = {name.data(), nullptr};
  EXPECT_EQ(main_of_the_program(1, arguments), 0);
  // For each lock three series of times: of both locks in three rows, and of the three locks on one core.
  std::vector<double> expected;
  for (const double held : {2e-6, 20e-6, 200e-6}) expected.insert(expected.end(), 2 * 3, held);
  expected.insert(expected.end(), 3 * 3, 0);
  EXPECT_THAT(cookbook::limits, testing::Pointwise(testing::DoubleEq(), expected));
}

template <typename Lock>
void expect_one_thread_at_a_time(int threads) {
  Lock lock;
  long counter = 0;  // plain: ThreadSanitizer sees whether the lock hands it over
  std::atomic<int> inside = 0;
  std::atomic<bool> seen_two = false;
  std::vector<std::jthread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      for (int round = 0; round < 20'000; ++round) {
        const std::scoped_lock hold(lock);
        if (inside.fetch_add(1, std::memory_order_relaxed) != 0) seen_two = true;
        ++counter;
        inside.fetch_sub(1, std::memory_order_relaxed);
      }
    });
  }
  running.clear();
  EXPECT_FALSE(seen_two);
  EXPECT_EQ(counter, threads * 20'000L);
}

TEST(spin_lock_class, one_thread_at_a_time_is_inside) {
  for (const int threads : {2, 4, 8}) expect_one_thread_at_a_time<SpinLock>(threads);  // more than there are cores, too
  expect_one_thread_at_a_time<ExchangeLock>(2);
}

TEST(spin_lock_class, try_lock_takes_it_only_if_it_is_free) {
  SpinLock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  std::jthread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
  const std::unique_lock hold(lock, std::try_to_lock);  // as the standard's lock classes use it
  EXPECT_TRUE(hold.owns_lock());
}

TEST(spin_lock_class, try_lock_hands_over_what_the_last_holder_did) {
  SpinLock lock;
  long counter = 0;  // plain: ThreadSanitizer sees whether the lock hands it over
  const auto add = [&] {
    for (int i = 0; i < 10'000; ++i) {
      while (!lock.try_lock()) std::this_thread::yield();
      ++counter;
      lock.unlock();
    }
  };
  { std::jthread one(add), two(add); }
  EXPECT_EQ(counter, 20'000);
}

TEST(spin_lock_class, two_locks_can_be_taken_together) {
  SpinLock one, two;
  int counter = 0;
  const auto forth = [&] {
    for (int i = 0; i < 10'000; ++i) {
      const std::scoped_lock hold(one, two);
      ++counter;
    }
  };
  const auto back = [&] {
    for (int i = 0; i < 10'000; ++i) {
      const std::scoped_lock hold(two, one);
      ++counter;
    }
  };
  { std::jthread first(forth), second(back); }
  EXPECT_EQ(counter, 20'000);
}

TEST(spin_lock_class, a_thread_that_waits_long_gives_its_core_away) {
  SpinLock lock;
  lock.lock();
  const long before = yields;
  std::jthread waiting([&] { lock.lock(); });
  // Again and again, as long as it waits.
  EXPECT_TRUE(test_support::eventually([&] { return yields > before + 1'000; }));
  EXPECT_EQ(noted::looks_before_first_yield, 101) << "a hundred looks were not enough";
#ifdef __x86_64__
  EXPECT_EQ(noted::pauses_before_first_yield, 100) << "one after each look";
#endif
  lock.unlock();
}

template <typename Lock>
void expect_that_a_holder_keeps_others_out() {
  Lock lock;
  std::atomic<bool> arrived = false, inside = false;
  lock.lock();
  std::jthread other([&] {
    arrived = true;
    const std::scoped_lock hold(lock);
    inside = true;
  });
  while (!arrived) std::this_thread::yield();
  bool too_early = false;
  for (int i = 0; i < 1000; ++i) {
    std::this_thread::yield();
    too_early = too_early || inside;
  }
  lock.unlock();
  EXPECT_FALSE(too_early);
  EXPECT_TRUE(test_support::eventually([&] { return inside.load(); }));
}

TEST(spin_lock_class, whoever_comes_second_waits_for_the_first) {
  expect_that_a_holder_keeps_others_out<SpinLock>();
  expect_that_a_holder_keeps_others_out<ExchangeLock>();
}

#ifndef __SANITIZE_THREAD__
// What the page says of the rows, by a wide margin.
TEST(spin_lock_timing, spinning_is_cheaper_for_a_short_wait_and_dearer_for_a_long_one) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "needs two processors";
  std::string last;
  for (int attempt = 0; attempt < 10; ++attempt) {  // one run may be disturbed by other programs
    const auto result = run("spin_lock");
    const auto number = [&](const std::string& before, const std::string& behind) {
      const auto found = result.captures("^" + before + "([0-9.]+) us" + behind + "$");
      EXPECT_EQ(found.size(), 1U) << result.text();
      return found.empty() ? -1 : std::stod(found[0]);
    };
    const std::string one = " +[0-9.]+ us", two = one + one, three = two + one;
    const double spins_long = number(" +200 us" + one + " +", two);
    const double exchange = number("ExchangeLock, which never yields +", "");
    if (number(" +2 us +", three) > number(" +2 us" + one + " +", two) &&                // works, mutex and SpinLock
        spins_long > 3 * number(" +200 us +", three) &&                                  // of its 200 us
        number(" +2 us" + two + " +", one) > 2 * number(" +2 us" + three + " +", "") &&  // goes on
        number(" +200 us" + two + " +", one) > 2 * number(" +200 us" + three + " +", "") &&
        exchange > 5 * number("std::mutex +", "") && exchange > 5 * number("SpinLock +", "")) {
      return;
    }
    last = result.text();
  }
  FAIL() << last;
}
#endif

}  // namespace

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

TEST(spin_lock, each_figure_is_the_median_of_any_number_of_waits) {
  for (const std::string waits : {"1", "2", "15"}) {
    const auto result = run("spin_lock", {"--waits", waits}, {.limit = std::chrono::seconds(60)});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_TRUE(result.has_line("ok    every thread waited at least as long as the lock was held: yes"))
        << result.text();
    EXPECT_EQ(result.captures("^  (std::mutex|SpinLock)(?: +[0-9.]+ us){3}$").size(), 6U) << result.text();
    EXPECT_EQ(result.captures("^  (std::mutex|SpinLock|ExchangeLock, which never yields) +[0-9.]+ us$").size(), 3U);
  }
}

/// Not locked by a second lock(): the other thread does not wait.
struct NoLock {
  void lock() {}
  void unlock() {}
};

TEST(spin_lock, a_wait_that_is_too_short_is_noticed) {
  bool right = true;
  median_wait<std::mutex>(3, 2, 0.001, right);
  EXPECT_TRUE(right);
#ifndef __SANITIZE_THREAD__  // which reports that without a lock two threads use the holder's watch at the same time
  median_wait<NoLock>(3, 2, 0.001, right);
  EXPECT_FALSE(right);
#endif
}

TEST(spin_lock, a_processors_work_for_a_wait_is_what_it_has_done_for_the_thread_from_lock_to_its_return) {
  std::jthread([] { EXPECT_DOUBLE_EQ(processor_seconds(), 1'000.5); }).join();
  EXPECT_DOUBLE_EQ(wait_for_it<std::mutex>(1, 0).processor, 7);
  EXPECT_DOUBLE_EQ(wait_for_it<SpinLock>(1, 0).processor, 7);
  bool right = true;
  EXPECT_DOUBLE_EQ(median_wait<SpinLock>(15, 1, 0, right).processor, 7);
}

TEST(spin_lock, the_lock_is_held_for_as_long_as_the_row_says_after_another_thread_has_come_for_it) {
  EXPECT_GE(wait_for_it<std::mutex>(1, 0.02).until_unlock, 0.02);
  EXPECT_GE(wait_for_it<SpinLock>(2, 0.02).until_unlock, 0.02);
  bool right = true;
  EXPECT_GE(median_wait<SpinLock>(15, 2, 0.005, right).until_unlock, 0.005);
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

/// A mutex whose first unlock() returns 50 ms after it has released the lock.
struct LateUnlock : std::mutex {
  std::atomic<int> calls = 0;
  void unlock() {
    const bool first = ++calls == 1;  // before the other thread can lock and unlock
    std::mutex::unlock();
    if (first) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
};

TEST(spin_lock, the_holders_time_is_that_of_its_unlock) {
  EXPECT_GE(wait_for_it<LateUnlock>(2, 0).unlock, 0.05);
  EXPECT_GE(wait_for_it<LateUnlock>(1, 0).unlock, 0.05);
  bool right = true;
  const Wait median = median_wait<LateUnlock>(3, 2, 0, right);
  EXPECT_GE(median.unlock, 0.05);
  EXPECT_LT(median.after_unlock, 0.05);
  EXPECT_LT(median_wait<LateMutex>(3, 2, 0, right).unlock, 0.05);
}

TEST(spin_lock, a_row_is_one_of_the_four_times) {
  const std::vector<Wait> waits = {{1e-6, 2e-6, 3e-6, 4e-6}, {5e-6, 6e-6, 7e-6, 8e-6}};
  testing::internal::CaptureStdout();
  print_row("a", waits, &Wait::unlock);
  print_row("b", waits, &Wait::processor);
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_THAT(printed, testing::MatchesRegex("  a +2.0 us +6.0 us\n  b +4.0 us +8.0 us\n"));
}

TEST(spin_lock, both_locks_are_held_for_as_long_as_the_row_says) {
  cookbook::limits.clear();
  std::string name = "spin_lock";
  char* arguments[] = {name.data(), nullptr};
  EXPECT_EQ(main_of_the_program(1, arguments), 0);
  // For each lock four series of times: of both locks in three columns, and of the three locks on one core.
  std::vector<double> expected;
  for (const double held : {2e-6, 20e-6, 200e-6}) expected.insert(expected.end(), 2 * 4, held);
  expected.insert(expected.end(), 3 * 4, 0);
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
    const std::string us = " +([0-9.]+) us", skipped = " +[0-9.]+ us";
    // Works, unlock() and goes on, if the lock is held for 2 us and for 200 us.
    const auto mutex_short = result.captures("^  std::mutex" + us + skipped + skipped + "$"),
               spins_short = result.captures("^  SpinLock" + us + skipped + skipped + "$"),
               mutex_long = result.captures("^  std::mutex" + skipped + skipped + us + "$"),
               spins_long = result.captures("^  SpinLock" + skipped + skipped + us + "$"),
               mutex_one = result.captures("^  std::mutex" + us + "$"),
               spins_one = result.captures("^  SpinLock" + us + "$"),
               exchange_one = result.captures("^  ExchangeLock, which never yields" + us + "$");
    ASSERT_TRUE(mutex_short.size() == 3 && spins_short.size() == 3 && mutex_long.size() == 3 &&
                spins_long.size() == 3 && mutex_one.size() == 1 && spins_one.size() == 1 && exchange_one.size() == 1)
        << result.text();
    const auto n = [](const std::string& number) { return std::stod(number); };
    if (n(mutex_short[0]) > n(spins_short[0]) && n(spins_long[0]) > 3 * n(mutex_long[0]) &&
        n(mutex_short[1]) > 2 * n(spins_short[1]) && n(mutex_long[1]) > 2 * n(spins_long[1]) &&
        n(mutex_short[2]) > 2 * n(spins_short[2]) && n(mutex_long[2]) > 2 * n(spins_long[2]) &&
        n(exchange_one[0]) > 5 * n(mutex_one[0]) && n(exchange_one[0]) > 5 * n(spins_one[0])) {
      return;
    }
    last = result.text();
  }
  FAIL() << last;
}
#endif

}  // namespace

// The program's output, and both locks from inside.

#include "02_threads/spin_lock/spin_lock.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "02_threads/spin_lock/sequence_lock.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(spin_lock, holds_for_any_number_of_threads_and_rounds) {
  for (const int threads : {1, 2, 3, 16}) {
    for (const int rounds : {1, 10'000}) {
      const auto result = run("spin_lock", {"--threads", std::to_string(threads), "--rounds", std::to_string(rounds)});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_TRUE(result.has_line("ok    spin lock: additions that were counted: " + std::to_string(threads * rounds)))
          << result.text();
      EXPECT_TRUE(result.has_line("ok    sequence lock: readings that mixed old and new numbers: 0")) << result.text();
    }
  }
}

TEST(spin_lock_class, one_thread_at_a_time_is_inside) {
  for (const int threads : {2, 4, 8}) {  // more than there are cores, too
    SpinLock lock;
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

TEST(sequence_lock, a_reader_gets_what_was_written_last) {
  SequenceLock<2> value;
  EXPECT_EQ(value.read(), (std::array<long, 2>{0, 0}));
  value.write({1, 2});
  EXPECT_EQ(value.read(), (std::array<long, 2>{1, 2}));
  value.write({3, 4});
  value.write({5, 6});
  EXPECT_EQ(value.read(), (std::array<long, 2>{5, 6}));
}

/// Two readers look for values that are half written, or older than the one before, while a writer writes. It rests
/// after each write, since a reader of a large value needs a while in which nothing is written.
template <std::size_t words>
void read_while_written(int readings) {
  SequenceLock<words> value;
  std::atomic<int> reading = 2;
  std::atomic<long> mixed = 0, older = 0;
  long last = 0;
  const auto write = [&] {
    while (reading > 0) {
      typename SequenceLock<words>::Value all;
      all.fill(++last);
      value.write(all);
      for (std::size_t i = 0; i < 20 * words; ++i) asm volatile("");
    }
  };
  const auto read = [&] {
    long newest = 0;
    for (int i = 0; i < readings; ++i) {
      const auto copy = value.read();
      for (const long word : copy) mixed += word != copy[0];
      older += copy[0] < newest;
      newest = copy[0];
    }
    --reading;
  };
  { std::jthread writer(write), one(read), two(read); }
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(older, 0);
  EXPECT_EQ(value.read()[words - 1], last);
}

#if defined(__SANITIZE_THREAD__)
constexpr int readings = 5'000;
#else
constexpr int readings = 50'000;
#endif

TEST(sequence_lock, no_reader_ever_gets_half_of_a_small_value) { read_while_written<3>(readings); }

TEST(sequence_lock, no_reader_ever_gets_half_of_a_large_value) { read_while_written<64>(readings / 50); }

}  // namespace

// The program's output, and the class from inside: with the machine's atomics, and with all that C++ allows them.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace simulated {

using namespace std;

/// Memory as the rules of C++ describe it, where the machine's own is stricter: of each variable all stores are kept,
/// and a load gets any of them that is not older than what its thread has seen. Who loads a released store by acquire
/// has seen what the storing thread had seen. One thread stores, and then another one loads; its loads get the stores
/// in all combinations, one after the other. (In the words of the literature: views, as in J. Kang and others, "A
/// promising semantics for relaxed-memory concurrency", 2017, without promises.)
class Memory {
 public:
  struct Again {};  ///< thrown where the loading thread would begin anew

  void store(const void* variable, long value, std::memory_order order) {
    std::vector<Store>& all = stores_of(variable);
    seen_[variable] = all.size();
    all.push_back({value, order == std::memory_order_relaxed ? View{{variable, all.size()}} : seen_});
  }

  long load(const void* variable, std::memory_order order) {
    const std::vector<Store>& all = stores_of(variable);
    seen_[variable] += choose(all.size() - seen_[variable]);
    const Store& loaded = all[seen_[variable]];
    if (order != std::memory_order_relaxed) {
      for (const auto& [other, place] : loaded.seen) seen_[other] = std::max(seen_[other], place);
    }
    return loaded.value;
  }

  /// From now on a thread loads that has seen nothing yet.
  void begin_thread() {
    seen_.clear();
    next_choice_ = 0;
  }

  /// Whether there is another combination for the thread that loads.
  bool go_on() {
    while (!choices_.empty() && ++choices_.back().chosen == choices_.back().count) choices_.pop_back();
    return !choices_.empty();
  }

 private:
  using View = std::map<const void*, std::size_t>;  // of each variable the newest store that was seen, from 0 on
  struct Store {
    long value;
    View seen;  // by the storing thread, if it has released it
  };
  struct Choice {
    std::size_t chosen, count;
  };

  std::vector<Store>& stores_of(const void* variable) {
    std::vector<Store>& all = stores_[variable];
    if (all.empty()) all.push_back({0, {}});  // as it was made
    return all;
  }

  std::size_t choose(std::size_t count) {
    if (count == 1) return 0;
    if (next_choice_ == choices_.size()) choices_.push_back({0, count});
    return choices_[next_choice_++].chosen;
  }

  std::map<const void*, std::vector<Store>> stores_;
  View seen_;  // by the thread that runs
  std::vector<Choice> choices_;
  std::size_t next_choice_ = 0;
};

Memory* memory = nullptr;  // where there is one, atomics are in it

/// In place of std::atomic.
template <typename T>
class atomic {
 public:
  atomic(T value = 0) : value_(value) {}
  T load(std::memory_order order) const {
    return memory != nullptr ? static_cast<T>(memory->load(this, order)) : value_.load(order);
  }
  void store(T value, std::memory_order order) {
    if (memory != nullptr) return memory->store(this, static_cast<long>(value), order);
    value_.store(value, order);
  }

 private:
  std::atomic<T> value_;
};

namespace this_thread {

inline void yield() {
  if (memory != nullptr) throw Memory::Again();
  std::this_thread::yield();
}

}  // namespace this_thread

}  // namespace simulated

#define std simulated
#include "02_threads/sequence_lock/sequence_lock.hpp"
#undef std

#define main main_of_the_program  // its measurement is tested from inside, too
#include "02_threads/sequence_lock/sequence_lock.cpp"
#undef main

#include "02_threads/counted_yields.hpp"
#include "cookbook/affinity.hpp"
#include "support/eventually.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

TEST(sequence_lock, no_lock_lets_a_mixed_reading_through) {
  for (const char* readers : {"1", "2", "5"}) {
    for (const char* pause : {"0", "1000"}) {
      const auto result = run("sequence_lock", {"--readers", readers, "--milliseconds", "20", "--pause", pause});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_TRUE(result.has_line("ok    mixed readings with protection: 0")) << result.text();
      for (const std::string name : {"std::mutex", "SequenceLock"}) {
        EXPECT_EQ(result.captures("^" + name + " .* ns +(\\d+) +\\d+$"), std::vector<std::string>{"0"})
            << result.text();
      }
      // main, the writer and the readers; nothing is known under a sanitizer
      EXPECT_TRUE(result.most_threads == 0 || result.most_threads == std::stoi(readers) + 2) << result.most_threads;
    }
  }
}

TEST(sequence_lock, the_changes_take_no_longer_than_the_run) {
  const auto result = run("sequence_lock", {"--milliseconds", "1", "--pause", "100000000"});
  const auto one_change = result.captures("^.+ ns +(\\d+) ns +\\d+ +\\d+$");
  ASSERT_EQ(one_change.size(), 3U) << result.text();
  double seconds = 0;  // a row has one change, since the pause is longer than the row
  for (const std::string& nanoseconds : one_change) seconds += 1e-9 * std::stod(nanoseconds);
  EXPECT_LT(seconds, result.seconds) << result.text();
}

/// Numbers that take a tenth of a millisecond to read.
struct Slow {
  void write(const Three&) {}
  Three read(long&) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    return {0, 0, 0};
  }
};

TEST(sequence_lock, the_time_of_a_reading_is_the_time_that_the_readings_took) {
  testing::internal::CaptureStdout();
  const cookbook::Stopwatch watch;
  measure<Slow>("slow", 1, 1, 0);  // a reader looks at the clock after 100 readings, which take longer than this
  const double seconds = watch.seconds();
  const double per_reading = 1e-9 * std::stod(testing::internal::GetCapturedStdout().substr(sizeof "slow"));
  EXPECT_GE(per_reading, 100e-6);
  EXPECT_LE(100 * per_reading, seconds);
}

/// While nobody writes, a reading has all three numbers of the last change, whatever protects them.
template <typename Numbers>
void expect_what_was_written_last() {
  Numbers numbers;
  long again = 0;
  EXPECT_EQ(numbers.read(again), (Three{0, 0, 0}));
  for (const Three& change : {Three{1, 2, 3}, Three{70, 80, 90}, Three{-4, 5, -6}}) {
    numbers.write(change);
    EXPECT_EQ(numbers.read(again), change);
  }
  EXPECT_EQ(again, 0);
}

TEST(sequence_lock, a_reading_has_all_numbers_of_the_last_change) {
  expect_what_was_written_last<Unprotected>();
  expect_what_was_written_last<ByMutex>();
  expect_what_was_written_last<SequenceLock<3>>();
}

#ifndef __SANITIZE_THREAD__
// Zero says something only if the same measurement can find more.
/// Numbers of which the second and the third are always so many greater than they should be.
template <long second, long third>
struct Wrong {
  static inline std::atomic<long> readings = 0;
  void write(const Three&) {}
  Three read(long&) {
    ++readings;
    return {7, 14 + second, 21 + third};
  }
};

/// Which part of the readings of such numbers was mixed. Adds to `rows` what the row should look like.
template <long second, long third>
double part_mixed(int readers, std::string& rows) {
  Wrong<second, third>::readings = 0;
  const long mixed = measure<Wrong<second, third>>("wrong", readers, 1, 0);
  rows += "wrong .* ns +" + std::to_string(mixed) + " +0\n";
  return static_cast<double>(mixed) / static_cast<double>(Wrong<second, third>::readings);
}

TEST(sequence_lock, a_reading_is_mixed_if_one_number_does_not_fit_the_first) {
  std::string rows;
  testing::internal::CaptureStdout();
  EXPECT_EQ((part_mixed<0, 0>(1, rows)), 0);
  EXPECT_EQ((part_mixed<1, 0>(1, rows)), 1);
  EXPECT_EQ((part_mixed<0, 1>(2, rows)), 1);
  EXPECT_EQ((part_mixed<1, 1>(1, rows)), 1);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, testing::ContainsRegex("^" + rows + "$"));
}

TEST(sequence_lock, some_readings_are_mixed_without_protection_and_repeated_with_the_lock) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "needs two processors";
  bool mixed = false, read_again = false;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto result = run("sequence_lock", {"--milliseconds", "50", "--pause", "0"});
    const auto found = result.captures("^no protection .* ns +(\\d+) +0$");
    const auto again = result.captures("^SequenceLock .* ns +0 +(\\d+)$");
    ASSERT_TRUE(found.size() == 1 && again.size() == 1) << result.text();
    mixed = mixed || std::stol(found[0]) > 0;
    read_again = read_again || std::stol(again[0]) > 0;
    if (mixed && read_again) return;
  }
  FAIL() << "never seen in 20 runs: " << mixed << read_again;
}
#endif

TEST(sequence_lock_class, a_reader_waits_for_nobody_but_a_writer_at_work) {
  SequenceLock<3> numbers;
  numbers.write({1, 2, 3});
  std::atomic<bool> go_on = true;
  std::atomic<int> readings = 0;
  {
    std::jthread one([&] {
      while (go_on) numbers.read(), ++readings;
    }),
        two([&] {
          while (go_on) numbers.read(), ++readings;
        });
    EXPECT_TRUE(test_support::eventually([&] { return readings > 100; }));
    for (long i = 0; i < 1000; ++i) numbers.write({i, i, i});  // ends although two threads read all the time
    go_on = false;
  }
  EXPECT_EQ(numbers.read(), (std::array<long, 3>{999, 999, 999}));
}

TEST(sequence_lock_class, a_reader_that_has_to_read_again_gives_its_core_away_before) {
  using Large = SequenceLock<10'000>;  // so large that a reader meets the writer at work
  const auto value = std::make_unique<Large>();
  const auto written = std::make_unique<Large::Value>();
  std::atomic<bool> go_on = true;
  std::atomic<long> mixed = 0;
  long again = 0;
  const long before = yields;
  {
    std::jthread writer([&] {
      for (long i = 0; go_on; ++i) {
        written->fill(i);
        value->write(*written);
      }
    });
    std::jthread reader([&] {
      while (go_on) {
        const auto copy = value->read(again);
        mixed += copy.front() != copy.back();
      }
    });
    EXPECT_TRUE(test_support::eventually([&] { return yields > before; }));
    go_on = false;
  }
  EXPECT_EQ(mixed, 0);
  EXPECT_GT(again, 0);
}

#ifndef __SANITIZE_THREAD__
TEST(sequence_lock_timing, readings_are_cheaper_than_with_a_mutex) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "needs two processors";
  std::string last;
  for (int attempt = 0; attempt < 10; ++attempt) {  // one run may be disturbed by other programs
    const auto result = run("sequence_lock");
    const auto time = [&](const std::string& name) {
      const auto found = result.captures("^" + name + " +([0-9.]+) ns .*$");
      return found.size() == 1 ? std::stod(found[0]) : -1;
    };
    const double by_sequence = time("SequenceLock");
    if (by_sequence > 0 && time("std::mutex") > 2 * by_sequence) return;
    last = result.text();
  }
  FAIL() << last;
}
#endif

TEST(sequence_lock_class, a_reader_gets_what_was_written_last) {
  SequenceLock<2> value;
  EXPECT_EQ(value.read(), (std::array<long, 2>{0, 0}));
  value.write({1, 2});
  EXPECT_EQ(value.read(), (std::array<long, 2>{1, 2}));
  value.write({3, 4});
  value.write({5, 6});
  EXPECT_EQ(value.read(), (std::array<long, 2>{5, 6}));
}

/// Readers (two, if there are processors for them and the writer) look for values that are half written, or older than
/// the one before, while a writer writes. It rests after each write, since a reader of a large value needs a while in
/// which nothing is written.
template <std::size_t words>
void read_while_written(int readings, int changes) {
  SequenceLock<words> value;
  const int readers = cookbook::allowed_processors() < 3 ? 1 : 2;
  std::atomic<int> reading = readers;
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
    // Also until so many changes were seen: else the readings might be done before the writer has begun. On a busy
    // machine the threads may have one core in turns, and a reader sees one change per turn.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
    const auto go_on = [&](int seen) {
      return seen < 20 || (seen < changes && std::chrono::steady_clock::now() < end);
    };
    for (int i = 0, seen = 0; i < readings || go_on(seen); ++i) {
      const auto copy = value.read();
      for (const long word : copy) mixed += word != copy[0];
      older += copy[0] < newest;
      seen += copy[0] != newest;
      newest = copy[0];
    }
    --reading;
  };
  {
    std::vector<std::jthread> threads;
    threads.emplace_back(write);
    for (int reader = 0; reader < readers; ++reader) threads.emplace_back(read);
  }
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(older, 0);
  EXPECT_EQ(value.read()[words - 1], last);
}

#if defined(__SANITIZE_THREAD__)
constexpr int readings = 5'000, changes = 1'000;
#else
constexpr int readings = 50'000, changes = 20'000;
#endif

TEST(sequence_lock_class, no_order_in_which_a_reader_may_see_the_stores_lets_it_get_half_of_a_value) {
  simulated::Memory memory;
  simulated::memory = &memory;
  SequenceLock<2> value;
  value.write({1, 2});
  value.write({3, 4});
  std::set<std::array<long, 2>> seen;
  do {
    memory.begin_thread();
    try {
      seen.insert(value.read());
    } catch (const simulated::Memory::Again&) {
    }
  } while (memory.go_on());
  simulated::memory = nullptr;
  EXPECT_EQ(seen, (std::set<std::array<long, 2>>{{0, 0}, {1, 2}, {3, 4}}));
}

TEST(sequence_lock_class, no_reader_ever_gets_half_of_a_small_value) { read_while_written<3>(readings, changes); }

TEST(sequence_lock_class, no_reader_ever_gets_half_of_a_large_value) { read_while_written<64>(readings / 50, changes); }

}  // namespace

// Where the counters lie, and that no addition is lost.

#include <cstdint>
#include <latch>
#include <thread>

#include "01_getting_started/false_sharing/counters.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

std::uintptr_t line_of(const Counter& counter) { return reinterpret_cast<std::uintptr_t>(&counter) / cache_line; }

TEST(false_sharing, the_counters_lie_in_one_line_or_in_two) {
  std::vector<OneLine> together(5);
  for (const OneLine& counters : together) EXPECT_EQ(line_of(counters.first), line_of(counters.second));
  EXPECT_EQ(alignof(OneLine), cache_line) << "or else its counters may lie in two lines";
  std::vector<TwoLines> apart(5);
  for (std::size_t i = 0; i < apart.size(); ++i) {
    EXPECT_GE(line_of(apart[i].second) - line_of(apart[i].first), 2U) << "not in the same pair of lines either";
    if (i > 0) {
      EXPECT_GE(line_of(apart[i].first) - line_of(apart[i - 1].second), 2U);
    }
  }
}

TEST(false_sharing, every_way_counts_right_beside_another_thread) {
  for (const auto count : {add_atomically, load_and_store, add_locally}) {
    OneLine counters;
    {
      std::jthread one(count, std::ref(counters.first), 50'000);
      std::jthread other(count, std::ref(counters.second), 70'000);
    }
    EXPECT_EQ(counters.first, 50'000);
    EXPECT_EQ(counters.second, 70'000);
  }
}

TEST(false_sharing, two_threads_may_add_to_the_same_counter_only_if_the_addition_is_atomic) {
  const auto lost = [](void (*count)(Counter&, long)) {
    Counter counter = 0;
    std::latch both_are_there(2);
    const auto add = [&] {
      both_are_there.arrive_and_wait();
      count(counter, 500'000);
    };
    { std::jthread one(add), other(add); }
    return 1'000'000 - counter;
  };
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(lost(add_atomically), 0);
    ASSERT_EQ(lost(add_locally), 0);
  }
  if (std::thread::hardware_concurrency() < 2) return;
  long lost_by_load_and_store = 0;
  for (int i = 0; i < 1'000 && lost_by_load_and_store == 0; ++i) lost_by_load_and_store = lost(load_and_store);
  EXPECT_GT(lost_by_load_and_store, 0) << "it is made of ordinary instructions, so only one thread may write";
}

TEST(false_sharing, a_local_sum_is_written_once) {
  Counter counter = 0;
  std::jthread writer([&] { add_locally(counter, 20'000'000); });
  long seen = 0;
  while (seen == 0) seen = counter;
  EXPECT_EQ(seen, 20'000'000);
}

TEST(false_sharing, prints_a_row_per_way) {
  const auto result = run("false_sharing", {"--counts", "1000"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    additions that were lost: 0")) << result.text();
  EXPECT_EQ(result.captures("^ +(\\d+) bytes apart +\\d+ bytes apart$"), std::vector<std::string>{"8"})
      << result.text();
  EXPECT_EQ(result.captures("^ +\\d+ bytes apart +(\\d+) bytes apart$"), std::vector<std::string>{"128"})
      << result.text();
  EXPECT_EQ(result.captures("^([a-z ]+[a-z])( +[0-9.]+ ns){3}$"),
            (std::vector<std::string>{"atomic add", "load and store", "local sum"}))
      << result.text();
}

TEST(false_sharing_timing, atomic_additions_in_one_line_take_longer) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core alone never loses its line";
  const auto result = run("false_sharing");
  const auto together = result.captures("^atomic add +[0-9.]+ ns +([0-9.]+) ns");
  const auto apart = result.captures("^atomic add .* ([0-9.]+) ns$");
  ASSERT_TRUE(together.size() == 1 && apart.size() == 1) << result.text();
  EXPECT_GT(std::stod(together[0]), 1.5 * std::stod(apart[0])) << result.text();
}

TEST(false_sharing_timing, load_and_store_is_not_atomic_and_much_faster) {
  const auto result = run("false_sharing");
  const auto atomic = result.captures("^atomic add +([0-9.]+) ns"),
             stored = result.captures("^load and store +([0-9.]+) ns");
  ASSERT_TRUE(atomic.size() == 1 && stored.size() == 1) << result.text();
  EXPECT_GT(std::stod(atomic[0]), 2 * std::stod(stored[0])) << result.text();
}

}  // namespace

// Where the counters lie, and that no addition is lost.

#include <sched.h>

#include <cstdint>
#include <latch>
#include <thread>

#define main main_of_the_program  // its functions are tested from inside, too
#include "01_getting_started/false_sharing/false_sharing.cpp"
#undef main

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(false_sharing, counters_less_than_a_line_from_the_first_one_lie_in_its_line) {
  std::vector<Counters> several(5);
  EXPECT_EQ(alignof(Counters), 2 * cache_line) << "or else a line may end before that, or share a pair with others";
  for (Counters& counters : several) {
    const Counter& first = counters.at(0);
    for (const std::size_t bytes : {8U, 16U, 32U, 56U, 64U, 120U, 128U}) {
      const Counter& other = counters.at(bytes);
      EXPECT_EQ(reinterpret_cast<const char*>(&other) - reinterpret_cast<const char*>(&first), bytes);
      EXPECT_EQ(line_of(other) - line_of(first), bytes / 64) << bytes;
    }
  }
}

TEST(false_sharing, every_way_counts_right_beside_another_thread) {
  for (const auto count : {add_atomically, add_locally}) {
    Counters counters;
    {
      std::jthread one(count, std::ref(counters.at(0)), 50'000);
      std::jthread other(count, std::ref(counters.at(8)), 70'000);
    }
    EXPECT_EQ(counters.at(0), 50'000);
    EXPECT_EQ(counters.at(8), 70'000);
  }
}

TEST(false_sharing, two_threads_may_add_to_the_same_counter) {
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
}

TEST(false_sharing, a_local_sum_is_written_once) {
  Counter counter = 0;
  std::jthread writer([&] { add_locally(counter, 20'000'000); });
  long seen = 0;
  while (seen == 0) seen = counter;
  EXPECT_EQ(seen, 20'000'000);
}

TEST(false_sharing, the_time_of_two_threads_is_that_of_the_slower_one) {
  const auto sleep = [](Counter& counter, long) { std::this_thread::sleep_for(std::chrono::milliseconds(counter)); };
  Counter quick = 0, slow = 50;
  EXPECT_GE(seconds_together(quick, slow, sleep, 1), 0.05);
  EXPECT_GE(seconds_together(slow, quick, sleep, 1), 0.05);
}

TEST(false_sharing, two_threads_count_on_two_processors) {
  if (cookbook::allowed_processors() < 2) GTEST_SKIP() << "there is one processor";
  cookbook::pin(0);  // its threads would stay there as well
  const auto note_the_processor = [](Counter& counter, long) { counter = sched_getcpu(); };
  for (int i = 0; i < 20; ++i) {
    Counter first = -1, second = -1;
    seconds_together(first, second, note_the_processor, 1);
    EXPECT_NE(first, second);
  }
  cookbook::unpin();
}

TEST(false_sharing, prints_a_row_per_distance) {
  const auto result = run("false_sharing", {"--counts", "1000"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("ok    additions that were lost: 0")) << result.text();
  EXPECT_EQ(result.lines_with("^one thread +[0-9.]+ ns$").size(), 1U) << result.text();
  using Texts = std::vector<std::string>;
  EXPECT_EQ(result.captures("^two threads +(\\d+) bytes +one +[0-9.]+ ns$"), (Texts{"8", "56"})) << result.text();
  EXPECT_EQ(result.captures("^two threads +(\\d+) bytes +two +[0-9.]+ ns$"), (Texts{"64", "128"})) << result.text();
  EXPECT_EQ(result.lines_with("^one thread, local sums +[0-9.]+ ns$").size(), 1U) << result.text();
  EXPECT_EQ(result.captures("^two threads, local sums +(\\d+) bytes +one +[0-9.]+ ns$"), Texts{"8"}) << result.text();
}

TEST(false_sharing_timing, atomic_additions_in_one_line_take_longer) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core alone never loses its line";
  const auto result = run("false_sharing");
  const auto times = result.captures("^two threads .* ([0-9.]+) ns$");
  ASSERT_EQ(times.size(), 4U) << result.text();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_GT(std::stod(times[i]), 1.5 * std::stod(times[3])) << result.text();
  EXPECT_LT(std::stod(times[2]), std::stod(times[0])) << result.text();
  const auto alone = result.captures("^one thread +([0-9.]+) ns$");
  ASSERT_EQ(alone.size(), 1U) << result.text();
  EXPECT_LT(std::stod(times[3]), 1.5 * std::stod(alone[0])) << "the second thread costs something\n" << result.text();
  EXPECT_GT(1.5 * std::stod(times[3]), std::stod(alone[0])) << "time per addition of both\n" << result.text();
}

TEST(false_sharing_timing, a_local_sum_is_much_faster_though_the_counters_lie_in_one_line) {
  const auto result = run("false_sharing");
  const auto atomic = result.captures("^one thread +([0-9.]+) ns"),
             one = result.captures("^one thread, local sums +([0-9.]+) ns$"),
             local = result.captures("^two threads, local sums .* ([0-9.]+) ns$");
  ASSERT_TRUE(atomic.size() == 1 && one.size() == 1 && local.size() == 1) << result.text();
  EXPECT_GT(std::stod(atomic[0]), 2 * std::stod(local[0])) << result.text();
  EXPECT_GT(std::stod(atomic[0]), 2 * std::stod(one[0])) << "one thread alone gains it, too\n" << result.text();
}

}  // namespace

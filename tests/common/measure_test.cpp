#include "cookbook/measure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using cookbook::Benchmark;
using cookbook::run_interleaved;

TEST(measure, rows_run_once_unmeasured_and_then_once_a_round) {
  std::string order;
  const auto timings =
      run_interleaved({Benchmark("a", 1, [&] { order += 'a'; }), Benchmark("b", 1, [&] { order += 'b'; })}, 20);
  ASSERT_EQ(timings.size(), 2U);
  EXPECT_EQ(timings[0].repeats, 20);
  ASSERT_EQ(order.size(), 42U);
  std::map<std::string, int> rounds;
  for (std::size_t i = 0; i < order.size(); i += 2) ++rounds[order.substr(i, 2)];
  EXPECT_EQ(rounds["ab"] + rounds["ba"], 21) << order;
  EXPECT_GT(rounds["ab"], 0) << order;
  EXPECT_GT(rounds["ba"], 0) << order;
}

TEST(measure, a_row_may_return_its_own_seconds) {
  double seconds = 0;
  const auto timings = run_interleaved({Benchmark("own", 1, [&] { return seconds += 1; })}, 3);
  EXPECT_EQ(timings[0].minimum, 2);  // the first run is the warm-up
  EXPECT_EQ(timings[0].median, 3);
  EXPECT_EQ(timings[0].maximum, 4);
}

TEST(measure, a_row_that_returns_nothing_is_timed) {
  const auto timings =
      run_interleaved({Benchmark("sleep", 1, [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); })}, 2);
  EXPECT_GE(timings[0].minimum, 0.005);
}

TEST(measure, the_environment_limits_the_rounds) {
  setenv("COOKBOOK_ROUNDS", "2", 1);
  int runs = 0;
  const auto timings = run_interleaved({Benchmark("a", 1, [&] { ++runs; })}, 20);
  unsetenv("COOKBOOK_ROUNDS");
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(timings[0].repeats, 2);
}

TEST(measure, median_of_an_odd_and_an_even_number) {
  EXPECT_EQ(cookbook::timing_of({3, 1, 2}).median, 2);
  EXPECT_EQ(cookbook::timing_of({4, 1, 3, 2}).median, 2.5);
  EXPECT_EQ(cookbook::timing_of({4, 1, 3, 2}).minimum, 1);
  EXPECT_EQ(cookbook::timing_of({4, 1, 3, 2}).maximum, 4);
}

TEST(measure, a_stopwatch_counts_at_least_the_time_slept) {
  const cookbook::Stopwatch watch;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_GE(watch.seconds(), 0.020);
}

TEST(measure, a_size_that_does_not_fit_into_memory_is_refused) {
  cookbook::require_memory(1, "--size 1");
  EXPECT_EXIT(cookbook::require_memory(1e18, "--size 17"), testing::ExitedWithCode(2),
              "--size 17 needs .* GiB of memory; .* GiB are available");
}

}  // namespace

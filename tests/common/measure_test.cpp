#include "cookbook/measure.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace {

TEST(measure, runs_warm_up_and_repeats) {
  int runs = 0;
  const cookbook::Timing timing = cookbook::measure([&] { ++runs; }, 5, 2);
  EXPECT_EQ(runs, 7);
  EXPECT_EQ(timing.repeats, 5);
  EXPECT_LE(timing.minimum, timing.median);
  EXPECT_LE(timing.median, timing.maximum);
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

}  // namespace

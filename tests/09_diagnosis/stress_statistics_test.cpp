// The formulas against sums and enumerations that are written down here, and the program's output, which is the same in
// every run.

#include "09_diagnosis/stress_statistics/detection.hpp"

#include <string>

namespace {

double factor = 1;

/// A race that may fail about `factor` times as often as its probability says.
struct OtherRace {
  long window;
  double probability() const { return Race{.window = window}.probability(); }
  bool fails(std::mt19937_64& random) const {
    return Race{.window = static_cast<long>(factor * static_cast<double>(window))}.fails(random);
  }
};

}  // namespace

#define main main_of_the_program  // to run it with such a race
#define Race OtherRace
#include "09_diagnosis/stress_statistics/stress_statistics.cpp"
#undef Race
#undef main

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(stress_statistics, detection_is_one_minus_the_chance_that_all_runs_pass) {
  EXPECT_DOUBLE_EQ(detection(0.5, 1), 0.5);
  EXPECT_DOUBLE_EQ(detection(0.5, 2), 0.75);
  EXPECT_DOUBLE_EQ(detection(0, 1'000), 0);
  EXPECT_DOUBLE_EQ(detection(1, 1), 1);
  EXPECT_NEAR(detection(0.003, 1'000), 1 - std::pow(0.997, 1'000), 1e-12);
  EXPECT_NEAR(detection(1e-15, 1'000'000) * 1e9, 1, 1e-6) << "1 - p would lose most digits of p";
}

TEST(stress_statistics, runs_needed_is_the_smallest_number_that_is_enough) {
  for (const double p : {0.0001, 0.003, 0.01, 0.2, 0.7}) {
    for (const double confidence : {0.5, 0.9, 0.95, 0.99}) {
      const long runs = runs_needed(p, confidence);
      EXPECT_GE(detection(p, runs), confidence) << p;
      EXPECT_LT(detection(p, runs - 1), confidence) << p;
    }
  }
}

TEST(stress_statistics, one_run_is_needed_if_each_one_fails_and_many_if_few_do) {
  EXPECT_EQ(runs_needed(1, 0.95), 1);
  EXPECT_EQ(runs_needed(0.01, 0.95), 299);
  EXPECT_EQ(runs_needed(0.001, 0.99), 4'603);
}

TEST(stress_statistics, a_race_that_fails_more_often_or_less_often_than_predicted_is_noticed) {
  std::string name = "stress_statistics";
  char* arguments[] = {name.data(), nullptr};
  EXPECT_EQ(main_of_the_program(1, arguments), 0);
  for (const double other : {2.0, 0.5}) {
    factor = other;
    EXPECT_EQ(main_of_the_program(1, arguments), 1) << other;
  }
  factor = 1;
}

TEST(stress_statistics, after_passed_runs_alone_the_bound_is_the_rule_of_three) {
  for (const long runs : {1L, 2L, 10L, 300L, 1'000L, 10'000L}) {
    EXPECT_NEAR(upper_bound(runs), 1 - std::pow(0.05, 1.0 / static_cast<double>(runs)), 1e-9) << runs;
    EXPECT_NEAR(upper_bound(runs, 0.99), 1 - std::pow(0.01, 1.0 / static_cast<double>(runs)), 1e-9) << runs;
  }
  EXPECT_NEAR(upper_bound(1'000) * 1'000, 3, 0.01);
}

TEST(stress_statistics, the_bound_holds_as_often_as_it_says) {
  std::mt19937_64 random(7);
  const Race race{.window = 16};
  int passed = 0;
  for (int test = 0; test < 2'000; ++test) {
    bool failed = false;
    for (int one = 0; one < 966 && !failed; ++one) failed = race.fails(random);
    passed += failed ? 0 : 1;
  }
  EXPECT_NEAR(passed / 2'000.0, 0.05, 4 * std::sqrt(0.05 * 0.95 / 2'000)) << "966 runs are enough for 95 %";
}

TEST(stress_statistics, the_probability_of_the_race_is_that_of_all_pairs_of_times) {
  for (const long times : {1L, 2L, 7L, 50L}) {
    for (long window = 1; window <= times; ++window) {
      long lost = 0;
      for (long a = 0; a < times; ++a) {
        for (long b = 0; b < times; ++b) lost += std::labs(a - b) < window ? 1 : 0;
      }
      EXPECT_NEAR((Race{times, window}.probability()), static_cast<double>(lost) / static_cast<double>(times * times),
                  1e-12)
          << times << " " << window;
    }
  }
}

TEST(stress_statistics, the_race_fails_as_often_as_its_probability_says) {
  for (const Race& race : {Race{100, 1}, Race{100, 7}, Race{10'000, 16}, Race{5, 5}}) {
    std::mt19937_64 random(3);
    constexpr int runs = 400'000;
    int failed = 0;
    for (int i = 0; i < runs; ++i) failed += race.fails(random) ? 1 : 0;
    const double p = race.probability();
    EXPECT_NEAR(static_cast<double>(failed) / runs, p, 4 * std::sqrt(p * (1 - p) / runs) + 1e-12);
  }
}

TEST(stress_statistics, prints_prediction_and_simulation) {
  const auto result = run("stress_statistics", {});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  for (const std::string line : {"2000 tests of 1000 runs            tests that pass      runs until 95 % of",
                                 "delay  p: a run fails       predicted    simulated          all tests fail",
                                 "    0      0.010 %            90.5 %       91.3 %                   29956",
                                 "    5      0.110 %            33.3 %       33.5 %                    2723",
                                 "   15      0.310 %             4.5 %        4.1 %                     966",
                                 "  100      2.000 %             0.0 %        0.0 %                     149",
                                 "1000 runs have passed: with 95 % confidence, at most 0.299 % of all runs fail"}) {
    EXPECT_TRUE(result.has_line(line)) << line << "\n" << result.text();
  }
}

TEST(stress_statistics, other_numbers_of_runs_and_tests_are_as_predicted_too) {
  for (const std::string runs : {"1", "10", "300", "3000"}) {
    for (const std::string tests : {"1", "500"}) {
      const auto result = run("stress_statistics", {"--runs", runs, "--tests", tests});
      EXPECT_EQ(result.exit_code, 0) << result.text();
    }
  }
}

}  // namespace

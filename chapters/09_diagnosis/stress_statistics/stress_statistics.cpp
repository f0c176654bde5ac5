// Stress statistics
//
// How much a passed stress test says. A simulated race with a known probability is looked for in 2,000 tests of 1,000
// runs each. The program prints how many of these tests pass, beside what a formula predicts, and how many runs it
// takes until 95 % of all tests fail.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/stress_statistics/stress_statistics.cpp common/cookbook/*.cpp -lfmt -pthread -o stress_statistics
// Run:     stress_statistics [--runs N] [--tests N]

#include <cmath>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "detection.hpp"

namespace {

/// The share of tests that fail. A test ends with the first run that shows the race, or passes after `runs` runs.
double simulated_detection(const Race& race, long runs, long tests) {
  std::mt19937_64 random(1);  // one generator for all runs, so that no run repeats another
  long failed = 0;
  for (long test = 0; test < tests; ++test) {
    for (long run = 0; run < runs; ++run) {
      if (!race.fails(random)) continue;
      ++failed;
      break;
    }
  }
  return static_cast<double>(failed) / static_cast<double>(tests);
}

/// Tests a race, and prints a row. True if the simulation is near the prediction: at most four standard deviations
/// away, and two tests, since with few tests the share moves in large steps.
bool as_predicted(const Race& race, long runs, long tests) {
  const double p = race.probability(), predicted = detection(p, runs);
  const double simulated = simulated_detection(race, runs, tests);
  cookbook::println("{:>5}{:>11.3f} %{:>16.1f} %{:>11.1f} %{:>24}", race.window - 1, 100 * p, 100 * (1 - predicted),
                    100 * (1 - simulated), runs_needed(p, 0.95));
  const double deviation = std::sqrt(predicted * (1 - predicted) / static_cast<double>(tests));
  return std::abs(simulated - predicted) <= 4 * deviation + 2 / static_cast<double>(tests);
}

}  // namespace

int main(int argc, char** argv) {
  long runs = 1'000, tests = 2'000;
  cookbook::Options options("Predict how likely a stress test finds a bug");
  options.add("runs", runs, "runs of each test", 1, 10'000);
  options.add("tests", tests, "tests for each race", 1, 10'000);
  options.parse(argc, argv);

  cookbook::println("{:<24}{:>26}{:>24}", fmt::format("{} tests of {} runs", tests, runs), "tests that pass",
                    "runs until 95 % of");
  cookbook::println("{:<24}{:>13}{:>13}{:>24}", "delay  p: a run fails", "predicted", "simulated", "all tests fail");
  bool all_as_predicted = true;
  for (const long delay : {0, 5, 15, 100}) {  // between the race's load and its store
    all_as_predicted = as_predicted(Race{.window = 1 + delay}, runs, tests) && all_as_predicted;
  }
  cookbook::println("{} runs have passed: with 95 % confidence, at most {:.3f} % of all runs fail", runs,
                    100 * upper_bound(runs));

  cookbook::Checks checks;
  checks.that("as many tests pass as predicted", all_as_predicted);
  return checks.exit_code();
}

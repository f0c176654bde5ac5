// Stress statistics
//
// How much a passed stress test says. A race with a known probability is hunted 2,000 times, each time in up to 1,000
// runs. The program prints how many of the hunts have missed it, beside what a formula predicts, and how many runs it
// takes to find it. A delay between the race's load and its store makes it more probable.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/stress_statistics/stress_statistics.cpp common/cookbook/*.cpp -lfmt -pthread -o stress_statistics
// Run:     stress_statistics [--runs N] [--hunts N]

#include <cmath>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "detection.hpp"

namespace {

/// The share of hunts that find the race. A hunt ends with the first run that fails, or after `runs` runs.
double measured_detection(const Race& race, long runs, long hunts) {
  std::mt19937_64 random(1);  // one generator for all runs: each of them is another one
  long found = 0;
  for (long hunt = 0; hunt < hunts; ++hunt) {
    for (long run = 0; run < runs; ++run) {
      if (!race.fails(random)) continue;
      ++found;
      break;
    }
  }
  return static_cast<double>(found) / static_cast<double>(hunts);
}

/// Hunts the race with a delay in its window, and prints a row. True if what was measured is near what was predicted.
bool hunt(long delay, long runs, long hunts) {
  const Race race{.window = 1 + delay};
  const double p = race.probability(), predicted = detection(p, runs);
  const double measured = measured_detection(race, runs, hunts);
  cookbook::println("delay {:<4}{:>13.3f} %{:>12.1f} %{:>11.1f} %{:>21}", delay, 100 * p, 100 * (1 - predicted),
                    100 * (1 - measured), runs_needed(p, 0.95));
  const double deviation = std::sqrt(predicted * (1 - predicted) / static_cast<double>(hunts));
  return std::abs(measured - predicted) <= 4 * deviation + 2 / static_cast<double>(hunts);
}

}  // namespace

int main(int argc, char** argv) {
  long runs = 1'000, hunts = 2'000;
  cookbook::Options options("Predict how likely a stress test finds a bug");
  options.add("runs", runs, "runs of each hunt", 1, 10'000);
  options.add("hunts", hunts, "hunts for each bug", 1, 10'000);
  options.parse(argc, argv);

  cookbook::println("{:>52}{:>21}", "hunts that find nothing", "runs until 95 % of");
  cookbook::println("{:<10}{:>15}{:>14}{:>13}{:>21}", "race", "a run fails", "predicted", "measured", "hunts find it");
  bool as_predicted = true;
  for (const long delay : {0, 5, 15, 100}) as_predicted = hunt(delay, runs, hunts) && as_predicted;
  cookbook::println("{} runs have passed: with 95 % confidence, at most {:.3f} % of all runs fail", runs,
                    100 * upper_bound(runs));

  cookbook::Checks checks;
  checks.that("the race was missed as often as predicted", as_predicted);
  checks.equal("runs to see a bug of 1 % at least once, with 95 % confidence", runs_needed(0.01, 0.95), 299);
  return checks.exit_code();
}

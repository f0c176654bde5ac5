// Stress statistics
//
// How much a passed stress test says. A race with a known probability is hunted 2,000 times, each time in up to 1,000
// runs, without and with a delay between its load and its store. The program prints in how many of the hunts the bug
// was found, beside what a formula predicts. Then it runs real threads, whose probability can only be estimated.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/stress_statistics/stress_statistics.cpp common/cookbook/*.cpp -lfmt -pthread -o stress_statistics
// Run:     stress_statistics [--runs N] [--hunts N]

#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "detection.hpp"

namespace {

using namespace std::chrono_literals;

/// The share of hunts that found the bug. A hunt ends with the first run that fails, or after `runs` runs.
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
  cookbook::println("delay {:<8}{:>8.3f} %{:>10.1f} %{:>10.1f} %{:>14}", delay, 100 * p, 100 * predicted,
                    100 * measured, runs_needed(p, 0.95));
  const double deviation = std::sqrt(predicted * (1 - predicted) / static_cast<double>(hunts));
  return std::abs(measured - predicted) <= 4 * deviation + 2 / static_cast<double>(hunts);
}

/// One run with real threads. True if one of the two updates is lost.
bool update_is_lost(std::chrono::microseconds delay, bool in_one_step) {
  std::atomic<int> counter = 0;
  const auto add_one = [&] {
    if (in_one_step) {
      std::this_thread::sleep_for(delay);
      counter.fetch_add(1);
    } else {
      const int seen = counter.load();
      std::this_thread::sleep_for(delay);  // injected, to hold the window open
      counter.store(seen + 1);
    }
  };
  { std::jthread a(add_one), b(add_one); }
  return counter != 2;
}

/// Prints how many of 300 runs failed, and returns it.
long run_threads(const std::string& steps, std::chrono::milliseconds delay, bool in_one_step) {
  constexpr long runs = 300;
  long failures = 0;
  for (long run = 0; run < runs; ++run) failures += update_is_lost(delay, in_one_step) ? 1 : 0;
  const std::string what = delay > 0ms ? fmt::format("{}, delay {} ms", steps, delay.count()) : steps;
  cookbook::println("{:<38}{:>6.1f} % of {} runs failed", what, 100.0 * static_cast<double>(failures) / runs, runs);
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  long runs = 1'000, hunts = 2'000;
  cookbook::Options options("Predict how likely a stress test finds a bug");
  options.add("runs", runs, "runs of each hunt", 1, 10'000);
  options.add("hunts", hunts, "hunts for each bug", 1, 10'000);
  options.parse(argc, argv);

  cookbook::println("{} runs have passed: with 95% confidence, the bug shows in at most {:.3f} % of all runs", runs,
                    100 * upper_bound(runs));
  cookbook::println("race{:>19}{:>13}{:>12}{:>14}", "p of a run", "predicted", "found", "runs for 95%");
  bool as_predicted = true;
  for (const long delay : {0, 15, 100, 1'000}) as_predicted = hunt(delay, runs, hunts) && as_predicted;
  run_threads("threads, load and store", 0ms, false);
  run_threads("threads, load and store", 1ms, false);
  const long of_correct = run_threads("threads, fetch_add", 1ms, true);

  cookbook::Checks checks;
  checks.that("the bugs were found as often as predicted", as_predicted);
  checks.equal("runs to see a bug of 1 % at least once, with 95 % confidence", runs_needed(0.01, 0.95), 299);
  checks.equal("failures of the correct program", of_correct, 0);
  return checks.exit_code();
}

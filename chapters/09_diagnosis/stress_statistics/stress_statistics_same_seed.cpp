// Pitfall: a thousand runs that are one run
//
// Each run of a stress test makes its own generator of random numbers, and the seed is the same. So each run does
// exactly what the first one did, and one that passes a thousand times has passed once. The formula assumes that the
// runs are independent, and predicts that nearly all tests find the bug; none does.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/stress_statistics/stress_statistics_same_seed.cpp common/cookbook/*.cpp -lfmt -pthread -o stress_statistics_same_seed
// Run:     stress_statistics_same_seed
// Symptom: exit 1, prints "the runs do not find what they should"

#include <random>

#include "cookbook/print.hpp"
#include "detection.hpp"

namespace {

constexpr long tests = 200, runs = 1'000;

bool found_in_test(const Race& race) {
  for (long run = 0; run < runs; ++run) {
    std::mt19937_64 random(1);  // wrong: the same numbers in every run
    if (race.fails(random)) return true;
  }
  return false;
}

}  // namespace

int main() {
  const Race race{.window = 16};
  long found = 0;
  for (long test = 0; test < tests; ++test) found += found_in_test(race) ? 1 : 0;
  cookbook::println("predicted: {:.0f} of {} tests find the bug", tests * detection(race.probability(), runs), tests);
  cookbook::println("simulated: {} of {} tests find the bug", found, tests);
  if (179 <= found && found < tests) {  // about four standard deviations fewer; all 200 would be suspicious, too
    cookbook::println("the runs find what they should");
    return 0;
  }
  cookbook::println("the runs do not find what they should");
  return 1;
}

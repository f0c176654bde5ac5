// Pitfall: a thousand runs that are one run
//
// Each run of the stress test makes its own generator of random numbers, and the seed is the same. So each run does
// exactly what the first one did, and one that passes a thousand times has passed once. The formula assumes that the
// runs are independent, and predicts that nearly all hunts find the bug; none does.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/stress_statistics/stress_statistics_same_seed.cpp common/cookbook/*.cpp -lfmt -pthread -o stress_statistics_same_seed
// Run:     stress_statistics_same_seed
// Symptom: exit 1, prints "the runs do not find what they should"

#include <random>

#include "cookbook/print.hpp"
#include "detection.hpp"

namespace {

constexpr long hunts = 200, runs = 1'000;

bool found_in_hunt(const Race& race) {
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
  for (long hunt = 0; hunt < hunts; ++hunt) found += found_in_hunt(race) ? 1 : 0;
  cookbook::println("predicted: {:.0f} of {} hunts find the bug", hunts * detection(race.probability(), runs), hunts);
  cookbook::println("found by: {} hunts", found);
  if (179 <= found && found < hunts) {  // the predicted number and four standard deviations
    cookbook::println("the runs find what they should");
    return 0;
  }
  cookbook::println("the runs do not find what they should");
  return 1;
}

// Pitfall: the efficiency on two processors is taken for any number of them
//
// A job takes 1,000 s on one processor and 520 s on two: an efficiency of 96 %. The prediction for more processors
// takes the same efficiency. But 40 s of the job are serial, and they take their time however many processors there
// are. So the efficiency becomes less with each processor, and on 64 the job takes 55 s, not 16.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/speedup_laws/speedup_laws_constant_efficiency.cpp -o speedup_laws_constant_efficiency
// Run:     speedup_laws_constant_efficiency
// Symptom: exit 1, prints "64 processors: predicted 16 s, simulated 55 s"

#include <cmath>
#include <cstdio>
#include <initializer_list>

/// Simulates the job and counts its seconds: one processor does the serial units, one per second, while the others
/// wait. Then each processor does one unit per second.
int counted(int processors) {
  const int serial = 40, parallel = 960;
  int seconds = serial;
  for (int left = parallel; left > 0; left -= processors) ++seconds;
  return seconds;
}

/// Predicts the seconds on `processors` processors from those that were counted on one and on two.
double predicted(double on_one, double on_two, int processors) {
  // TODO: find the serial part, and use the law for work that stays the same.
  const double efficiency = on_one / on_two / 2;
  return on_one / (efficiency * processors);  // wrong: the efficiency does not stay the same
}

int main() {
  bool right = true;
  for (const int processors : {2, 4, 16, 64}) {
    const double seconds = predicted(counted(1), counted(2), processors);
    std::printf("%d processors: predicted %.0f s, simulated %d s\n", processors, seconds, counted(processors));
    right = right && std::abs(seconds - counted(processors)) < 0.5;
  }
  return right ? 0 : 1;
}

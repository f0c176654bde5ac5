// Pitfall: one assignment after the other
//
// Python's `a, b = b, a + b` computes both values before it sets a name. This program writes it as two assignments. The
// second one adds the new a, not the old one, so that b is doubled in each turn.
//
// Compile: g++ -std=c++20 -O2 chapters/01_getting_started/language_tour/language_tour_assignments.cpp -o language_tour_assignments
// Run:     language_tour_assignments
// Symptom: exit 1, prints "1 2 4 8"

#include <cstdio>

int main() {
  int a = 0, b = 1, last = 0;
  while (b < 10) {
    std::printf("%d ", b);
    last = b;
    a = b;  // wrong: a has lost its old value
    b = a + b;
  }
  std::printf("\nthe Fibonacci numbers below 10 are 1 1 2 3 5 8\n");
  return last == 8 && b == 13 ? 0 : 1;  // 13 is the next one
}

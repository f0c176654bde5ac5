// Pitfall: a view computes late
//
// A view is made from three numbers. Then the numbers change, and then the view is read. It has stored nothing when it
// was made, so it shows the new numbers doubled, and the results of the old ones are nowhere.
//
// Compile: g++ -std=c++20 -O2 chapters/05_distributed/map_three_ways/map_three_ways_late.cpp -o map_three_ways_late
// Run:     map_three_ways_late
// Symptom: exit 1, prints "the results have changed"

#include <cstdio>
#include <ranges>
#include <vector>

int main() {
  std::vector<int> items = {1, 2, 3};
  auto results = items | std::views::transform([](int item) { return 2 * item; });  // wrong: this is no list of results
  items = {10, 20, 30};

  int sum = 0;
  for (const int result : results) sum += result;
  std::printf("sum of the results: %d, expected 12\n", sum);
  if (sum == 12) return 0;
  std::puts("the results have changed");
  return 1;
}

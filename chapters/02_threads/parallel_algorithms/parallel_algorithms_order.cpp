// Pitfall: an operation for which the order matters
//
// std::reduce may group and swap the operands as it likes, since only then can threads share the work. Subtraction
// gives another result for every grouping. The call compiles all the same, and returns a number. A sum of floats
// depends on the grouping as well, because every addition rounds.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/parallel_algorithms/parallel_algorithms_order.cpp -ltbb -pthread -o parallel_algorithms_order
// Run:     parallel_algorithms_order
// Symptom: exit 1, prints "not the result of the sequential loop"

#include <cstdio>
#include <execution>
#include <functional>
#include <numeric>
#include <vector>

int main() {
  std::vector<long> numbers(1'000'000);
  std::iota(numbers.begin(), numbers.end(), 1L);
  const long in_order = std::accumulate(numbers.begin(), numbers.end(), 0L, std::minus<>());
  const long reduced = std::reduce(std::execution::par, numbers.begin(), numbers.end(), 0L, std::minus<>());
  std::printf("0 - 1 - 2 - ... - 1000000: %ld in order, %ld by std::reduce\n", in_order, reduced);

  const std::vector<float> tenths(10'000'000, 0.1F);
  const float added_in_order = std::accumulate(tenths.begin(), tenths.end(), 0.0F);
  const float added_by_reduce = std::reduce(std::execution::par, tenths.begin(), tenths.end(), 0.0F);
  std::printf("0.1 added ten million times: %.0f in order, %.0f by std::reduce\n", added_in_order, added_by_reduce);

  if (in_order == reduced) return 0;
  std::puts("not the result of the sequential loop");
  return 1;
}

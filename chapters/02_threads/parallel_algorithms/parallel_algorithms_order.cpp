// Parallel algorithms, with an operation that minds the order
//
// std::reduce may group and swap the operands as it likes; only so can threads share them. Subtraction gives another
// result for every grouping, and std::reduce compiles with it all the same. Sums of floats depend on the grouping too:
// one running total of ten million loses much to rounding, the short totals of std::reduce lose less.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/parallel_algorithms/parallel_algorithms_order.cpp -ltbb -pthread -o parallel_algorithms_order
// Run:     parallel_algorithms_order
// Symptom: exit 1, prints "the order of the operands matters"

#include <cstdio>
#include <execution>
#include <functional>
#include <numeric>
#include <vector>

int main() {
  std::vector<long> numbers(1'000'000);
  std::iota(numbers.begin(), numbers.end(), 1L);
  const long in_order = std::accumulate(numbers.begin(), numbers.end(), 0L, std::minus<>{});
  const long in_parallel = std::reduce(std::execution::par, numbers.begin(), numbers.end(), 0L, std::minus<>{});
  std::printf("0 - 1 - 2 - ... - 1000000: %ld in order, %ld by std::reduce\n", in_order, in_parallel);

  const std::vector<float> tenths(10'000'000, 0.1F);
  const float added_in_order = std::accumulate(tenths.begin(), tenths.end(), 0.0F);
  const float added_in_parallel = std::reduce(std::execution::par, tenths.begin(), tenths.end(), 0.0F);
  std::printf("ten million tenths as floats: %.0f in order, %.0f by std::reduce\n", added_in_order, added_in_parallel);

  if (in_order == in_parallel) return 0;
  std::puts("the order of the operands matters");
  return 1;
}

// Pitfall: the parts are merged before both are sorted
//
// A std::jthread waits for its thread in its destructor, so it seems that nothing can be forgotten. But the destructor
// runs at the end of the block, and here the merge is inside the same block: it begins when this thread's part is
// sorted, whether the other part is or not.
//
// Compile: g++ -std=c++20 -O2 chapters/02_threads/parallel_sort/parallel_sort_early_merge.cpp -pthread -o parallel_sort_early_merge
// Run:     parallel_sort_early_merge
// Symptom: exit 1, prints "the result is not sorted"
// Symptom under thread: prints "data race"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

int main() {
  std::vector<std::uint32_t> numbers(300'000), merged(numbers.size());
  std::mt19937 random;
  for (std::uint32_t& number : numbers) number = random();
  const auto cut = numbers.begin() + numbers.size() * 2 / 3;  // the other thread has more to do

  {
    std::jthread lower([&] { std::sort(numbers.begin(), cut); });
    std::sort(cut, numbers.end());
    // Missing: something that waits for the thread.
    std::merge(numbers.begin(), cut, cut, numbers.end(), merged.begin());
  }

  const bool sorted = std::is_sorted(merged.begin(), merged.end());
  std::puts(sorted ? "the result is sorted" : "the result is not sorted");
  return sorted ? 0 : 1;
}

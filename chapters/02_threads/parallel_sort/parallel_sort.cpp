// Parallel sort
//
// A merge sort by threads: one thread sorts the lower half of the numbers while another sorts the upper half, and
// then both halves are merged. Sorting the halves is easy to share out, the merge is not: here a number and its place
// in the other half cut the merge into parts that do not depend on each other. The functions are in merge_sort.hpp.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/02_threads/parallel_sort/parallel_sort.cpp common/cookbook/*.cpp -lfmt -pthread -o parallel_sort
// Run:     parallel_sort [--numbers N] [--threads N]

#include <cstdint>
#include <random>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "merge_sort.hpp"

int main(int argc, char** argv) {
  std::size_t size = 500'000;
  int threads = 4;
  cookbook::Options options("Sort with several threads");
  options.add("numbers", size, "numbers to sort", 1, 1'000'000'000);
  options.add("threads", threads, "threads", 1, 256);
  options.parse(argc, argv);

  // The two steps, on few numbers: sort both halves, then merge them.
  std::vector<int> few = {5, 2, 8, 1, 7, 4, 6, 3}, merged(few.size());
  {
    std::jthread lower([&] { std::sort(few.begin(), few.begin() + 4); });
    std::sort(few.begin() + 4, few.end());
  }
  cookbook::println("both halves sorted: {}", few);
  parallel_merge<int>(std::span(few).first(4), std::span(few).last(4), merged, 2);
  cookbook::println("merged:             {}", merged);

  // The same, on many numbers, by as many threads as wanted.
  std::vector<std::uint32_t> numbers(size);
  std::mt19937 random;
  for (std::uint32_t& number : numbers) number = random();
  std::vector<std::uint32_t> expected = numbers;
  std::sort(expected.begin(), expected.end());
  parallel_sort(std::span(numbers), threads);

  cookbook::Checks checks;
  checks.equal("the few numbers, merged", merged, {1, 2, 3, 4, 5, 6, 7, 8});
  checks.that("the many numbers are in the order that std::sort gives", numbers == expected);
  return checks.exit_code();
}

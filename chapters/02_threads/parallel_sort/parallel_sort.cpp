// Parallel sort
//
// A merge sort by threads: each sorts a part of the numbers, and then all of them merge the sorted parts. First eight
// numbers show how a merge is cut into two that do not depend on each other. Then the program prints how long one
// thread and all threads take to sort the halves of many numbers, to merge these halves, and to do both. The functions
// are in merge_sort.hpp.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/02_threads/parallel_sort/parallel_sort.cpp common/cookbook/*.cpp -lfmt -pthread -o parallel_sort
// Run:     parallel_sort [--numbers N] [--threads N]

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "merge_sort.hpp"

namespace {

using Numbers = std::vector<std::uint32_t>;
using Row = std::span<const std::uint32_t>;  // numbers that are sorted already

/// Shows how two threads merge two rows of four numbers.
std::vector<int> merge_few() {
  const std::vector<int> a = {1, 2, 5, 8}, b = {3, 4, 6, 7};
  const Cuts cut = cut_rows<int>(a, b, 2);
  const std::span rest_of_a = std::span(a).subspan(cut.a), rest_of_b = std::span(b).subspan(cut.b);
  cookbook::println("two rows:           {} and {}", a, b);
  cookbook::println("one thread merges   {} and {}", std::span(a).first(cut.a), std::span(b).first(cut.b));
  cookbook::println("another one merges  {} and {}", rest_of_a, rest_of_b);
  std::vector<int> merged(8);
  parallel_merge<int>(a, b, merged, 2);
  return merged;
}

/// Prints the milliseconds that `work(threads)` takes with one thread and with all, the shortest of three runs each,
/// and how many times as fast all threads are. Each run begins with a call of `prepare`.
template <typename Prepare, typename Work>
void print_times(const char* name, int all_threads, Prepare prepare, Work work) {
  const auto milliseconds = [&](int threads) {
    double shortest = 1e18;
    for (int run = 0; run < 3; ++run) {
      prepare();
      const cookbook::Stopwatch watch;
      work(threads);
      shortest = std::min(shortest, 1e3 * watch.seconds());
    }
    return shortest;
  };
  const double one = milliseconds(1), all = milliseconds(all_threads);
  cookbook::println("{:<20}{:10.2f} ms{:13.2f} ms{:13.2f} x", name, one, all, one / all);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 1'000'000;
  int threads = cookbook::allowed_processors();
  cookbook::Options options("Sort with several threads");
  options.add("numbers", size, "numbers to sort", 1, 1'000'000'000);
  options.add("threads", threads, "threads", 1, 256);
  options.parse(argc, argv);
  // Five rows of numbers here, and one in parallel_sort().
  cookbook::require_memory(24.0 * static_cast<double>(size), fmt::format("--numbers {}", size));

  const std::vector<int> few = merge_few();

  Numbers unsorted(size), sorted, merged(size);
  std::generate(unsorted.begin(), unsorted.end(), std::mt19937());
  Numbers expected = unsorted, halves = unsorted;
  std::sort(expected.begin(), expected.end());
  const std::size_t half = size / 2;
  parallel_sort(std::span(halves).first(half), threads);
  parallel_sort(std::span(halves).subspan(half), threads);

  // A new order for each run: if few numbers are sorted in the same order again, the processor remembers how the
  // comparisons ended, and is faster.
  const auto shuffle = [&, random = std::mt19937()]() mutable {
    std::shuffle(unsorted.begin(), unsorted.end(), random);
    sorted = unsorted;
  };
  cookbook::println("{:<20}  one thread     all threads  times as fast", fmt::format("{} numbers", size));
  print_times("sort two halves", threads, shuffle, [&](int n) {
    const std::span lower = std::span(sorted).first(half), upper = std::span(sorted).subspan(half);
    if (n == 1) {
      parallel_sort(lower, 1);
      parallel_sort(upper, 1);
    } else {
      std::jthread helper([=] { parallel_sort(lower, n / 2); });
      parallel_sort(upper, n - n / 2);
    }
  });
  print_times(
      "merge two halves", threads, [&] { std::fill(merged.begin(), merged.end(), 0); },
      [&](int n) { parallel_merge<std::uint32_t>(Row(halves).first(half), Row(halves).subspan(half), merged, n); });
  print_times("sort all of them", threads, shuffle, [&](int n) { parallel_sort(std::span(sorted), n); });

  cookbook::Checks checks;
  checks.equal("the two rows, merged", few, {1, 2, 3, 4, 5, 6, 7, 8});
  checks.that("merged numbers as by std::sort", merged == expected);
  checks.that("sorted numbers as by std::sort", sorted == expected);
  return checks.exit_code();
}

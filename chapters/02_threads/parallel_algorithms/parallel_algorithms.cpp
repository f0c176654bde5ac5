// Parallel algorithms
//
// Four jobs that many programs are made of: add up, transform, running totals (a scan), sort. Each is done three times:
// by the sequential algorithm of the standard library, by its parallel form with std::execution::par, and by oneTBB.
// The parallel forms divide the work between threads by themselves; the results must be the same.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/02_threads chapters/02_threads/parallel_algorithms/parallel_algorithms.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o parallel_algorithms
// Run:     parallel_algorithms [--numbers N] [--threads N]

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cstdint>
#include <execution>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "tbb_threads.hpp"

using Number = std::uint32_t;  // its sums wrap around at 2^32, so they are the same in any order of the additions
using Range = tbb::blocked_range<std::size_t>;

int main(int argc, char** argv) {
  std::size_t size = 1'000'000, threads = threads_for_tbb();  // one per processor
  cookbook::Options options("Add up, transform, scan and sort with parallel algorithms");
  options.add("numbers", size, "random numbers to work on", 1, 100'000'000);
  options.add("threads", threads, "threads that the parallel forms may use", 1, 1'024);
  options.parse(argc, argv);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);  // for par, too

  std::vector<Number> numbers(size), expected(size), result(size);
  std::generate(numbers.begin(), numbers.end(), std::mt19937(1));
  const auto begin = numbers.begin(), end = numbers.end();
  const Range all(0, size);
  cookbook::Checks checks;

  // Add up. std::accumulate promises to add from left to right; std::reduce does not, so its work can be divided.
  const Number sum = std::accumulate(begin, end, Number{0});
  checks.equal("sum, std::execution::par", std::reduce(std::execution::par, begin, end, Number{0}), sum);
  const auto add_part = [&](const Range& part, Number subtotal) {
    return std::accumulate(begin + part.begin(), begin + part.end(), subtotal);
  };
  checks.equal("sum, oneTBB", tbb::parallel_reduce(all, Number{0}, add_part, std::plus<>()), sum);

  // Transform: every element by itself.
  const auto scaled = [](Number number) { return 3 * number + 1; };
  std::transform(begin, end, expected.begin(), scaled);
  std::transform(std::execution::par, begin, end, result.begin(), scaled);
  checks.that("transform, std::execution::par", result == expected);
  std::fill(result.begin(), result.end(), 0);  // so that the old result does not pass the next check
  tbb::parallel_for(all, [&](const Range& part) {
    for (std::size_t i = part.begin(); i != part.end(); ++i) result[i] = scaled(numbers[i]);
  });
  checks.that("transform, oneTBB", result == expected);

  // Scan: element i of the result is the sum of the elements 0 to i.
  std::partial_sum(begin, end, expected.begin());
  std::inclusive_scan(std::execution::par, begin, end, result.begin());
  checks.that("scan, std::execution::par", result == expected);
  std::fill(result.begin(), result.end(), 0);
  const auto scan_part = [&](const Range& part, Number total, bool is_final) {
    for (std::size_t i = part.begin(); i != part.end(); ++i) {
      total += numbers[i];
      if (is_final) result[i] = total;  // only now is the total before this part known
    }
    return total;
  };
  checks.equal("last running total, oneTBB", tbb::parallel_scan(all, Number{0}, scan_part, std::plus<>()), sum);
  checks.that("scan, oneTBB", result == expected);

  // Sort.
  expected = numbers;
  std::sort(expected.begin(), expected.end());
  result = numbers;
  std::sort(std::execution::par, result.begin(), result.end());
  checks.that("sort, std::execution::par", result == expected);
  result = numbers;
  tbb::parallel_sort(result.begin(), result.end());
  checks.that("sort, oneTBB", result == expected);
  return checks.exit_code();
}

// Parallel algorithms
//
// Adds up, transforms, scans and sorts ten million numbers, each job in three forms: by the sequential algorithm of the
// standard library, by the same algorithm with std::execution::par, and by oneTBB. Prints how many times as fast the
// parallel forms are on this machine, and checks that they have the same results.
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

#include "comparison.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "tbb_threads.hpp"

namespace {

using std::execution::par;
using Number = std::uint32_t;  // unsigned: sums wrap around, so they are the same in every order of the additions
using Numbers = std::vector<Number>;
using Range = tbb::blocked_range<std::size_t>;  // the indices from begin() up to, not including, end()

// Add up. accumulate() promises to go from left to right. reduce() does not, so its work can be divided.
Number sum(const Numbers& v) { return std::accumulate(v.begin(), v.end(), Number{0}); }
Number sum_par(const Numbers& v) { return std::reduce(par, v.begin(), v.end()); }
Number sum_tbb(const Numbers& v) {
  const auto add_part = [&](const Range& part, Number subtotal) {
    return std::accumulate(v.begin() + part.begin(), v.begin() + part.end(), subtotal);
  };
  return tbb::parallel_reduce(Range(0, v.size()), Number{0}, add_part, std::plus<>());
}

// Transform: every element by itself. (A lambda, not a function: its calls can be inlined.)
constexpr auto scaled = [](Number number) { return 3 * number + 1; };
void transform(Numbers& v) { std::transform(v.begin(), v.end(), v.begin(), scaled); }
void transform_par(Numbers& v) { std::transform(par, v.begin(), v.end(), v.begin(), scaled); }
void transform_tbb(Numbers& v) {
  tbb::parallel_for(Range(0, v.size()), [&](const Range& part) {
    for (std::size_t i = part.begin(); i != part.end(); ++i) v[i] = scaled(v[i]);
  });
}

// Scan: element i becomes the sum of the elements 0 to i.
void scan(Numbers& v) { std::inclusive_scan(v.begin(), v.end(), v.begin()); }
void scan_par(Numbers& v) { std::inclusive_scan(par, v.begin(), v.end(), v.begin()); }
void scan_tbb(Numbers& v) {
  const auto scan_part = [&](const Range& part, Number total, bool is_final) {
    for (std::size_t i = part.begin(); i != part.end(); ++i) {
      total += v[i];
      if (is_final) v[i] = total;  // only now is the sum of all parts before this one known
    }
    return total;
  };
  tbb::parallel_scan(Range(0, v.size()), Number{0}, scan_part, std::plus<>());
}

void sort(Numbers& v) { std::sort(v.begin(), v.end()); }
void sort_par(Numbers& v) { std::sort(par, v.begin(), v.end()); }
void sort_tbb(Numbers& v) { tbb::parallel_sort(v); }

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 10'000'000, threads = threads_for_tbb();  // one per processor
  cookbook::Options options("Add up, transform, scan and sort with parallel algorithms");
  options.add("numbers", size, "random numbers to work on", 1, 100'000'000);
  options.add("threads", threads, "threads that the parallel forms may use", 1, 1'024);
  options.parse(argc, argv);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);  // holds for par, too

  Numbers numbers(size);
  std::generate(numbers.begin(), numbers.end(), std::mt19937(1));

  cookbook::println("              sequential           par        oneTBB");
  int different = 0;
  different += compare("sum", numbers, sum, sum_par, sum_tbb);
  different += compare("transform", numbers, transform, transform_par, transform_tbb);
  different += compare("scan", numbers, scan, scan_par, scan_tbb);
  different += compare("sort", numbers, sort, sort_par, sort_tbb);

  cookbook::Checks checks;
  checks.equal("parallel results that differ from the sequential ones", different, 0);
  return checks.exit_code();
}

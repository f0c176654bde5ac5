// Parallel algorithms, measured: the jobs of the lesson, for few numbers and for many; and the transform once more, by
// a function that is passed as a pointer instead of a lambda, and with 200 operations per number instead of two.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/02_threads chapters/02_threads/parallel_algorithms/parallel_algorithms_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o parallel_algorithms_bench
// Run:     parallel_algorithms_bench [--log2 N] [--rounds N]

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
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "tbb_threads.hpp"

namespace {

using Number = std::uint32_t;
using Numbers = std::vector<Number>;
using Range = tbb::blocked_range<std::size_t>;
using std::execution::par;

Number scaled(Number number) { return 3 * number + 1; }

}  // namespace

int main(int argc, char** argv) {
  int log2 = 26, rounds = 7;
  cookbook::Options options("Sum, transform, scan and sort, in the cache and far beyond it");
  options.add("log2", log2, "the sizes are 2^10, 2^16 and 2^N numbers", 17, 30);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);
  cookbook::require_memory(16.0 * static_cast<double>(std::size_t{1} << log2), fmt::format("--log2 {}", log2));
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads_for_tbb()));

  cookbook::Checks checks;
  std::vector<cookbook::Figures> tables;
  for (const int log2_size : {10, 16, log2}) {
    const std::size_t size = std::size_t{1} << log2_size;
    const Range all(0, size);
    Numbers in(size), out(size), expected(size);
    std::mt19937 random;
    for (Number& number : in) number = static_cast<Number>(random());
    Number sum = 0;

    // One table per job. A form is called so often that at least 2^18 numbers are handled: a call on few numbers alone
    // would be too short to be measured. The sort begins each call with a copy of the numbers, which counts as its
    // work.
    const std::size_t calls = std::max<std::size_t>(1, (std::size_t{1} << 18) / size);
    const auto measure = [&](const std::string& job, auto sequential, auto by_par, auto by_tbb, auto right) {
      const auto row = [&](const std::string& name, auto form) {
        return benchmark_after_pause(
            name, static_cast<double>(calls * size),
            [&calls, form] {
              for (std::size_t call = 0; call < calls; ++call) form();
            },
            std::chrono::milliseconds(5));
      };
      const auto check = [&](const std::string& name, auto form) {
        std::fill(out.begin(), out.end(), 0xdeadbeef);
        sum = 0;
        form();
        checks.that(fmt::format("{} of 2^{} numbers by {} is right", job, log2_size, name), right());
      };
      check("std::execution::par", by_par);
      check("oneTBB", by_tbb);
      cookbook::Figures& table =
          tables.emplace_back(fmt::format("{}, 2^{} numbers", job, log2_size), cookbook::rate("M numbers/s", 1e6));
      table.measure({row("sequential", sequential), row("std::execution::par", by_par), row("oneTBB", by_tbb)}, rounds);
      table.speedup_over("sequential");
    };

    const Number expected_sum = std::accumulate(in.begin(), in.end(), Number{0});
    measure(
        "sum", [&] { cookbook::do_not_optimize(sum = std::reduce(in.begin(), in.end())); },
        [&] { cookbook::do_not_optimize(sum = std::reduce(par, in.begin(), in.end())); },
        [&] {
          sum = tbb::parallel_reduce(
              all, Number{0},
              [&](const Range& part, Number so_far) {
                return std::accumulate(in.begin() + part.begin(), in.begin() + part.end(), so_far);
              },
              std::plus<>{});
          cookbook::do_not_optimize(sum);
        },
        [&] { return sum == expected_sum; });

    const auto out_is_right = [&] { return out == expected; };
    const auto measure_transform = [&](const std::string& name, auto operation) {
      std::transform(in.begin(), in.end(), expected.begin(), operation);
      measure(
          name,
          [&] {
            std::transform(in.begin(), in.end(), out.begin(), operation);
            cookbook::do_not_optimize(out.data());
          },
          [&] { std::transform(par, in.begin(), in.end(), out.begin(), operation); },
          [&] {
            tbb::parallel_for(all, [&](const Range& part) {
              for (std::size_t i = part.begin(); i != part.end(); ++i) out[i] = operation(in[i]);
            });
          },
          out_is_right);
    };
    measure_transform("transform", [](Number number) { return 3 * number + 1; });
    measure_transform("transform by a function", scaled);  // passed as a pointer
    measure_transform("transform by 200 operations", [](Number number) {
      for (Number k = 0; k < 100; ++k) number = number * number + k;
      return number;
    });

    std::inclusive_scan(in.begin(), in.end(), expected.begin());
    measure(
        "scan",
        [&] {
          std::inclusive_scan(in.begin(), in.end(), out.begin());
          cookbook::do_not_optimize(out.data());
        },
        [&] { std::inclusive_scan(par, in.begin(), in.end(), out.begin()); },
        [&] {
          tbb::parallel_scan(
              all, Number{0},
              [&](const Range& part, Number total, bool sum_before_is_known) {
                for (std::size_t i = part.begin(); i != part.end(); ++i) {
                  total += in[i];
                  if (sum_before_is_known) out[i] = total;
                }
                return total;
              },
              std::plus<>{});
        },
        out_is_right);

    // Other numbers for each call: a processor that has sorted the same few numbers before predicts the comparisons.
    Numbers pool(std::max(size, std::size_t{1} << 20));
    for (Number& number : pool) number = static_cast<Number>(random());
    expected.assign(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(size));
    std::sort(expected.begin(), expected.end());
    std::size_t next = 0;
    const auto sort_by = [&](auto sort) {
      return [&, sort] {
        std::copy_n(pool.begin() + static_cast<std::ptrdiff_t>(next % pool.size()), size, out.begin());
        next += size;
        sort();
      };
    };
    const auto first_is_right = [&] {
      next = 0;
      return out == expected;
    };
    measure("sort", sort_by([&] { std::sort(out.begin(), out.end()); }),
            sort_by([&] { std::sort(par, out.begin(), out.end()); }),
            sort_by([&] { tbb::parallel_sort(out.begin(), out.end()); }), first_is_right);
  }
  for (const cookbook::Figures& table : tables) table.print(checks);
  return checks.exit_code();
}

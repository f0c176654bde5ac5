// Parallel sort, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/02_threads chapters/02_threads/parallel_sort/parallel_sort_bench.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o parallel_sort_bench
// Run:     parallel_sort_bench [--log2 N] [--threads N] [--rounds N]

#include <tbb/global_control.h>
#include <tbb/parallel_sort.h>

#include <cstdint>
#include <execution>
#include <random>
#include <string>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "merge_sort.hpp"
#include "tbb_threads.hpp"

using Numbers = std::vector<std::uint32_t>;

int main(int argc, char** argv) {
  int log2 = 26, threads = cookbook::allowed_processors(), rounds = 5;
  cookbook::Options options("How fast several sorts are, in the cache and beyond it");
  options.add("log2", log2, "the larger table sorts 2^N numbers, the smaller one 2^20 or, if N is less, 2^N", 10, 31);
  options.add("threads", threads, "threads", 1, 256);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);
  const auto largest = std::size_t{1} << log2;
  cookbook::require_memory(16.0 * static_cast<double>(largest), fmt::format("--log2 {}", log2));
  const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(std::min(threads, threads_for_tbb())));

  cookbook::Checks checks;
  std::vector<cookbook::Figures> tables;
  for (const int log2_size : {std::min(log2, 20), log2}) {
    const auto size = std::size_t{1} << log2_size;
    Numbers unsorted(size), numbers(size), expected;
    std::mt19937 random;
    for (std::uint32_t& number : unsorted) number = static_cast<std::uint32_t>(random());
    expected = unsorted;
    std::sort(expected.begin(), expected.end());

    bool right = true;
    const auto row = [&](const std::string& name, auto sort, bool sorts_all = true) {
      return cookbook::Benchmark(name, static_cast<double>(size), [&, sort, sorts_all] {
        numbers = unsorted;
        const double seconds = benchmark_after_pause("", 1, sort, std::chrono::milliseconds(5)).run();
        right = right && (!sorts_all || numbers == expected);
        return seconds;
      });
    };
    const auto both_halves_alone = [&] {
      const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(size / 2);
      std::jthread lower([&] { std::sort(numbers.begin(), middle); });
      std::sort(middle, numbers.end());
    };
    cookbook::Figures& table =
        tables.emplace_back(fmt::format("2^{} numbers, {} MiB", log2_size, 4.0 * static_cast<double>(size) / (1 << 20)),
                            cookbook::rate("M numbers/s", 1e6));
    table.measure({row("std::sort, 1 thread", [&] { std::sort(numbers.begin(), numbers.end()); }),
                   row("parallel_sort", [&] { parallel_sort(std::span(numbers), threads); }),
                   row("tbb::parallel_sort", [&] { tbb::parallel_sort(numbers.begin(), numbers.end()); }),
                   row("std::execution::par", [&] { std::sort(std::execution::par, numbers.begin(), numbers.end()); }),
                   row("two halves, not merged", both_halves_alone, false)},
                  rounds);
    table.speedup_over("tbb::parallel_sort", "oneTBB");
    checks.that(fmt::format("all forms sort 2^{} numbers", log2_size), right);
  }
  for (const cookbook::Figures& table : tables) table.print(checks);
  return checks.exit_code();
}

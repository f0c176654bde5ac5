// The program's output, for sizes around those at which the libraries begin to divide the work.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/run.hpp"

namespace {

using test_support::run;

/// The sum, modulo 2^32, of the numbers that the program makes.
std::string sum_of_random(std::size_t size) {
  std::vector<std::uint32_t> numbers(size);
  std::generate(numbers.begin(), numbers.end(), std::mt19937(1));
  return std::to_string(std::accumulate(numbers.begin(), numbers.end(), std::uint32_t{0}));
}

TEST(parallel_algorithms, all_forms_agree_for_any_size_and_number_of_threads) {
  for (const auto& [size, threads] : {std::pair{1U, "2"}, {2U, "1"}, {1'999U, "4"}, {2'001U, "2"}, {1'000'003U, "3"}}) {
#if defined(__SANITIZE_THREAD__)
    if (std::string(threads) != "1") continue;  // this sanitizer cannot see how oneTBB's threads wait for each other
#endif
    const auto result = run("parallel_algorithms", {"--numbers", std::to_string(size), "--threads", threads});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    const std::string sum = sum_of_random(size);
    for (const std::string what : {"sum, std::execution::par: ", "sum, oneTBB: ", "last running total, oneTBB: "}) {
      EXPECT_TRUE(result.has_line("ok    " + what + sum)) << result.text();
    }
    EXPECT_EQ(result.lines_with("^ok    (transform|scan|sort), (std::execution::par|oneTBB): yes$").size(), 6U);
  }
}

TEST(parallel_algorithms_bench, measures_each_job_in_the_cache_and_beyond) {
  const auto result = run("parallel_algorithms_bench", {"--json", "--log2", "17", "--rounds", "1"},
                          {.environment = {{"COOKBOOK_ROUNDS", "1"}}});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string job : {"sum", "transform", "scan", "sort"}) {
    for (const std::string size : {"10", "16", "17"}) {
      for (const std::string row : {"sequential", "std::execution::par", "oneTBB"}) {
        EXPECT_EQ(result.lines_with("\"table\": \"" + job + ", 2\\^" + size + " numbers\", \"row\": \"" + row).size(),
                  1U)
            << result.text();
      }
    }
  }
}

}  // namespace

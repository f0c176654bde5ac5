// The program's statistics for several seeds, how evenly its numbers are spread, and that they depend on the seed
// alone.

#include "06_gpu/cuda_random/uniform.hpp"

#include <algorithm>
#include <array>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

TEST(cuda_random, the_statistics_hold_for_other_seeds_and_counts) {
  for (const std::string seed : {"0", "2", "12345", "1000000000"}) {
    for (const std::string count : {"10000", "100001", "3000000"}) {
      const auto result = run("cuda_random", {"--seed", seed, "--count", count});
      if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
      EXPECT_EQ(result.exit_code, 0) << result.text();
    }
  }
}

/// How far the numbers are from being spread evenly over 100 bins of equal width. For random numbers it is about 99 on
/// average, and above 200 in less than one of ten million cases.
double chi_squared(const std::vector<double>& numbers) {
  std::array<double, 100> bins{};
  for (const double number : numbers) ++bins[std::min(static_cast<int>(number * 100), 99)];
  const double expected = static_cast<double>(numbers.size()) / bins.size();
  double sum = 0;
  for (const double found : bins) sum += (found - expected) * (found - expected) / expected;
  return sum;
}

TEST(cuda_random_uniform_numbers, are_spread_evenly) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const unsigned seed : {0U, 1U, 2U, 12345U, 1'000'000'000U}) {
    EXPECT_LT(chi_squared(uniform_numbers(seed, 100'000)), 200) << seed;
  }
}

const std::string numbers_line = "^XORWOW begins with((?: [01]\\.\\d{4}){8})$";
const std::string estimate = " where it is made +\\d+ G numbers/s +pi is about (\\d\\.\\d{4})$";

TEST(cuda_random, prints_numbers_and_estimates_which_the_seed_decides) {
  const std::vector<std::string> small = {"--count", "1000000"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), small.begin(), small.end());
    return run("cuda_random", more);
  };
  const auto first = with({}), again = with({"--blocks", "7"}), other = with({"--seed", "2"});
  if (first.exit_code == skipped) GTEST_SKIP() << first.err[0];
  ASSERT_EQ(first.captures(numbers_line).size(), 1U) << first.text();
  EXPECT_EQ(first.captures(numbers_line), again.captures(numbers_line));
  EXPECT_NE(first.captures(numbers_line), other.captures(numbers_line)) << other.text();
  ASSERT_EQ(first.captures("^Philox, used" + estimate).size(), 1U) << first.text();
  EXPECT_EQ(first.captures("^Philox, used" + estimate), again.captures("^Philox, used" + estimate)) << again.text();
  EXPECT_NE(first.captures("^Philox, used" + estimate), other.captures("^Philox, used" + estimate)) << other.text();
}

TEST(cuda_random, more_points_come_nearer_to_pi) {
  const auto result = run("cuda_random", {"--count", "100000000"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  for (const std::string& line : {"^XORWOW, used" + estimate, "^Philox, used" + estimate,
                                 std::string("^Philox, stored and then used +\\d+ G numbers/s +pi is about (.+)$")}) {
    const auto pi = result.captures(line);
    ASSERT_EQ(pi.size(), 1U) << line << result.text();
    EXPECT_NEAR(std::stod(pi[0]), 3.14159, 0.002);  // eight times the standard error, and the rounding
  }
}

TEST(cuda_random, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_random", {{"--count", "10001", "--blocks", "3"}, {"--count", "16384", "--blocks", "4"}},
                          {"memcheck"});
}

}  // namespace

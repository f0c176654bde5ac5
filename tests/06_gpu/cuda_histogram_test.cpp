// The program seen from outside, at sizes that are no multiples of what a load or a block takes.

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

const std::string ways[] = {"in the device's memory", "in shared memory", "in shared memory, 32 sets",
                            "none, only reading", "cub::DeviceHistogram"};

/// A row of the output: the way, then for random bytes and for equal ones the turns, where it has some, and the rate,
/// in which the brackets of a column catch a number.
std::string row(const std::string& way, const std::string& random, const std::string& equal) {
  const std::string turns = way.starts_with("in shared memory") ? " +[0-9.]+" : "";
  return "^" + way + turns + " +" + random + " GB/s" + turns + " +" + equal + " GB/s$";
}
const std::string number = "[0-9.]+", caught = "([0-9.]+)";

TEST(cuda_histogram, without_a_device_it_is_skipped_with_a_reason) {
  for (const std::string program : {"cuda_histogram", "cuda_histogram_plain_sum"}) {
    const auto result = run(program, {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
    EXPECT_EQ(result.exit_code, skipped) << result.text();
    EXPECT_TRUE(result.out.empty()) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], testing::HasSubstr("skipped, no CUDA device: "));
  }
}

TEST(cuda_histogram, counts_all_at_every_size) {
  // Less than one load, loads and a rest, blocks and a rest; and more than four loads of every thread of a large
  // device.
  for (const std::string count : {"1", "15", "16", "17", "4099", "16384", "1000003", "70000013"}) {
    const auto result = run("cuda_histogram", {"--count", count}, {.environment = {{"COOKBOOK_GUARD", "1"}}});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << count << '\n' << result.text();
    ASSERT_EQ(result.out.size(), std::size(ways) + 3) << result.text();
    for (const std::string& way : ways) {
      const std::string pattern =
          std::stoi(count) < 512 ? "^" + way + "( +[0-9.]+ GB/s){2}$" : row(way, number, number);
      EXPECT_EQ(result.lines_with(pattern).size(), 1U) << result.text();
    }
    EXPECT_EQ(result.out.back(), "ok    ways with a wrong count: 0") << count;
  }
}

/// How many turns the addition of a warp takes on average: the different counters in the fullest of the 32 banks.
template <typename Draw>
double turns(int sets, Draw draw) {
  constexpr int warps = 20'000;
  std::size_t all = 0;
  for (int warp = 0; warp < warps; ++warp) {
    std::array<std::set<int>, 32> banks;
    for (int thread = 0; thread < 32; ++thread) {
      const int counter = draw() * sets + thread % sets;
      banks[counter % 32].insert(counter);
    }
    all += std::ranges::max(banks, {}, &std::set<int>::size).size();
  }
  return static_cast<double>(all) / warps;
}

TEST(cuda_histogram, an_addition_takes_as_many_turns_as_the_page_says) {
  std::mt19937 random(1);
  const auto uniform = [&] { return static_cast<int>(random() % 256); };
  const std::pair<int, double> page[] = {{1, 3.15}, {2, 3.28}, {4, 3.22}, {8, 2.93}, {16, 2.00}, {32, 1.00}};
  for (const auto& [sets, expected] : page) EXPECT_NEAR(turns(sets, uniform), expected, 0.02) << sets << " sets";
}

TEST(cuda_histogram, the_program_prints_the_same_turns) {
  const auto result = run("cuda_histogram", {"--count", "1000003"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  for (const auto& [way, expected] : {std::pair(ways[1], 3.15), std::pair(ways[2], 1.00)}) {
    const auto random = result.captures("^" + way + " +([0-9.]+) .*$");
    const auto equal = result.captures("^" + way + " .* GB/s +([0-9.]+) .*$");
    ASSERT_EQ(random.size(), 1U) << result.text();
    ASSERT_EQ(equal.size(), 1U) << result.text();
    EXPECT_NEAR(std::stod(random[0]), expected, expected == 1 ? 0 : 0.03) << result.text();
    EXPECT_EQ(std::stod(equal[0]), 1.00) << result.text();
  }
}

TEST(cuda_histogram, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_histogram", {{"--count", "100003"}, {"--count", "65536"}},
                          {"memcheck", "racecheck", "initcheck", "synccheck"});
}

TEST(cuda_histogram_timing, shared_counters_are_faster_than_global_ones) {
  const auto result = run("cuda_histogram");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto rate = [&](const std::string& way, bool equal) {
    const auto found = result.captures(row(way, equal ? number : caught, equal ? caught : number));
    EXPECT_EQ(found.size(), 1U) << result.text();
    return found.size() == 1 ? std::stod(found[0]) : std::nan("");
  };
  for (const bool equal : {false, true}) EXPECT_GT(rate(ways[2], equal), rate(ways[0], equal)) << result.text();
  // Where one set waits for its banks, not for the memory, 32 sets must not: each thread of a warp has a bank.
  if (rate(ways[1], false) < 0.7 * rate(ways[1], true)) {
    EXPECT_GT(rate(ways[2], false), 1.2 * rate(ways[1], false)) << result.text();
  }
}

}  // namespace

// The program seen from outside, at sizes that are no multiples of what a load or a block takes.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "cookbook/cuda.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

const std::string ways[] = {"none, only reading", "in the device's memory", "in shared memory",
                            "in shared memory, 32 sets", "cub::DeviceHistogram"};

/// A row of the output: the way, then for random bytes and for equal ones the turns and the highest rate, where it has
/// some, and the rate, in which the brackets of a column catch a number.
std::string row(const std::string& way, const std::string& random, const std::string& equal) {
  const std::string turns = way.starts_with("in shared memory") ? " +[0-9.]+ +[0-9.]+ GB/s" : "";
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
    EXPECT_EQ(result.out.back(), "ok    measurements with the right counts: 10") << count;
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

/// The numbers of a row with counters in shared memory: for random bytes and for equal ones the turns, the highest rate
/// and the rate.
struct Numbers {
  double turns, at_most, rate;
};
std::array<Numbers, 2> numbers_in(const test_support::Result& result, const std::string& way) {
  std::array<Numbers, 2> found = {};
  const auto lines = result.lines_with(row(way, number, number));
  EXPECT_EQ(lines.size(), 1U) << result.text();
  if (lines.size() != 1) return found;
  std::istringstream line(lines[0].substr(way.size()));
  std::string unit;
  for (Numbers& of : found) line >> of.turns >> of.at_most >> unit >> of.rate >> unit;
  EXPECT_TRUE(line) << lines[0];
  return found;
}

TEST(cuda_histogram, the_program_prints_the_same_turns_and_the_limit_that_follows) {
  const auto result = run("cuda_histogram");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto read = [&](bool equal) {
    const auto found = result.captures(row(ways[0], equal ? number : caught, equal ? caught : number));
    EXPECT_EQ(found.size(), 1U) << result.text();
    return found.size() == 1 ? std::stod(found[0]) : std::nan("");
  };
  int khz = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), cudaSuccess);
  const double one_turn = 32.0 * gpu::multiprocessors() * khz * 1e-6;
  for (const auto& [way, expected] : {std::pair(ways[2], 3.15), std::pair(ways[3], 1.00)}) {
    const auto [random, equal] = numbers_in(result, way);
    EXPECT_NEAR(random.turns, expected, expected == 1 ? 0 : 0.03) << result.text();
    EXPECT_EQ(equal.turns, 1.00) << result.text();
    EXPECT_NEAR(random.at_most, std::min(read(false), one_turn / random.turns), 0.003 * random.at_most)
        << result.text();
    EXPECT_NEAR(equal.at_most, std::min(read(true), one_turn), 0.06) << result.text();
  }
}

TEST(cuda_histogram, the_limit_is_the_memorys_or_that_of_32_bytes_per_cycle_and_multiprocessor) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  // Where no device is, all bytes are 0 and read in 1 ms, and two multiprocessors have a clock of 1.5 GHz.
  for (const auto& [count, at_most] : {std::pair("50000000", 50.0), std::pair("120000000", 96.0)}) {
    const auto [result, record] = cuda_test::run_without_device("cuda_histogram", {"--count", count});
    std::string pattern = "^" + ways[3];
    for (int i = 0; i < 2; ++i) pattern += fmt::format(" +1.00 +{:.1f} GB/s +wrong", at_most);
    EXPECT_EQ(result.lines_with(pattern + "$").size(), 1U) << result.text();
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
  for (const bool equal : {false, true}) EXPECT_GT(rate(ways[3], equal), rate(ways[1], equal)) << result.text();
  // Where one set waits for its banks, not for the memory, 32 sets must not: each thread of a warp has a bank.
  if (rate(ways[2], false) < 0.7 * rate(ways[2], true)) {
    EXPECT_GT(rate(ways[3], false), 1.2 * rate(ways[2], false)) << result.text();
  }
}

}  // namespace

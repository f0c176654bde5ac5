// Flynn's taxonomy: the program seen from outside. Catalogue: 1.C2 to 1.C6.

#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "support/run.hpp"

namespace {

using test_support::run;

/// The three sums, computed here in the plainest way.
std::string expected(int size) {
  std::mt19937 random(1);
  std::uint32_t same = 0, squares = 0, branches = 0;
  for (int i = 0; i < size; ++i) {
    const auto x = static_cast<std::uint32_t>(random());
    same += x;
    squares += x * x;
    branches += x % 2 == 1 ? 3 * x + 1 : x / 2;
  }
  std::ostringstream text;
  text << '[' << same << ", " << squares << ", " << branches << ']';
  return text.str();
}

void expect_right_sums(int size, const std::string& piece, const std::string& threads) {
  const auto result =
      run("flynn_taxonomy", {"--numbers", std::to_string(size), "--piece", piece, "--threads", threads});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.captures("^(?:SISD|ok    (?:SIMD|MISD|MIMD)): (\\[.*\\])$"),
            std::vector<std::string>(4, expected(size)))
      << result.text();
}

TEST(flynn_taxonomy, all_four_ways_give_the_right_sums_for_any_size) {
  for (const int size : {1, 3, 15, 16, 17, 1000, 300'000}) expect_right_sums(size, "1000", "4");
}

TEST(flynn_taxonomy, any_piece_and_any_number_of_threads_will_do) {
  for (const std::string piece : {"1", "7", "268435456"}) {
    for (const std::string threads : {"1", "16"}) expect_right_sums(2000, piece, threads);
  }
}

TEST(flynn_taxonomy, names_the_vectors_that_the_compiler_may_use) {
  const auto result = run("flynn_taxonomy", {"--numbers", "1"});
  const auto bits = result.captures("^vectors of (\\d+) bits: \\d+ lanes$");
  const auto lanes = result.captures("^vectors of \\d+ bits: (\\d+) lanes$");
  ASSERT_EQ(lanes.size(), 1U) << result.text();
  EXPECT_EQ(std::stoi(bits[0]), 32 * std::stoi(lanes[0]));
#if defined(__AVX512F__)
  EXPECT_EQ(bits[0], "512");
#elif defined(__AVX2__)
  EXPECT_EQ(bits[0], "256");
#endif
}

}  // namespace

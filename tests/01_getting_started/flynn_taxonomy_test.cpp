// Flynn's taxonomy: the program seen from outside. Catalogue: 1.C2 to 1.C6.

#include <array>
#include <random>
#include <sstream>

#include "support/run.hpp"

namespace {

using test_support::run;

const std::string results_of = "^ok    (?:SIMD|MISD|MIMD|MIMD of SIMD|SISD, .*er|SISD, .*mask): (\\[.*\\])$";

/// The four results, computed here in the plainest way.
std::string expected(int size) {
  std::mt19937 random;
  std::array<std::uint32_t, 4> results{};
  for (int i = 0; i < size; ++i) {
    const auto x = static_cast<std::uint32_t>(random());
    results[0] += x;
    results[1] += x * x;
    results[2] += x ^ (x >> 7);
    results[3] += x % 2 == 1 ? 3 * x + 1 : x / 2;
  }
  std::ostringstream text;
  text << '[' << results[0] << ", " << results[1] << ", " << results[2] << ", " << results[3] << ']';
  return text.str();
}

TEST(flynn_taxonomy, all_forms_give_the_right_results_for_any_size) {
  for (const int size : {1, 2, 15, 16, 17, 1000, 65537, 300'000}) {
    const auto result = run("flynn_taxonomy", {"--numbers", std::to_string(size), "--rounds", "1", "--piece", "1000"});
    ASSERT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.captures(results_of), std::vector<std::string>(6, expected(size))) << result.text();
  }
}

TEST(flynn_taxonomy, any_piece_and_any_number_of_threads_will_do) {
  for (const std::string piece : {"1", "7", "4096", "268435456"}) {
    for (const std::string threads : {"1", "2", "5", "16"}) {
      const auto result =
          run("flynn_taxonomy", {"--numbers", "2000", "--rounds", "1", "--piece", piece, "--threads", threads});
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(result.captures(results_of), std::vector<std::string>(6, expected(2000))) << result.text();
    }
  }
}

TEST(flynn_taxonomy, the_machine_fetches_decodes_and_executes) {
  const auto result = run("flynn_taxonomy", {"--numbers", "1000", "--rounds", "1"});
  EXPECT_EQ(result.lines_with("^  fetch"),
            (std::vector<std::string>{"  fetch 104 from cell 0, decode: load  4, execute: accumulator is 20",
                                      "  fetch 205 from cell 1, decode: add   5, execute: accumulator is 65",
                                      "  fetch 306 from cell 2, decode: store 6, execute: accumulator is 65",
                                      "  fetch   0 from cell 3, decode: halt  0, execute: accumulator is 65"}));
  EXPECT_TRUE(result.has_line("ok    its cell 6: 65")) << result.text();
}

TEST(flynn_taxonomy, a_mask_chooses_where_lanes_disagree) {
  const auto result = run("flynn_taxonomy", {"--numbers", "1000", "--rounds", "1"});
  EXPECT_TRUE(result.has_line("ok    lanes 1 to 8: mask of the odd ones: [1, 0, 1, 0, 1, 0, 1, 0]")) << result.text();
  EXPECT_TRUE(result.has_line("ok    3x + 1 under the mask, x / 2 elsewhere: [4, 1, 10, 2, 16, 3, 22, 4]"));
}

/// The highest rate of a form, in millions of numbers a second.
double rate(const test_support::Result& result, const std::string& form) {
  const auto found = result.captures("^" + form + " +[0-9.]+ M numbers/s +[0-9.]+ M numbers/s +([0-9.]+) M numbers/s");
  return found.size() == 1 ? std::stod(found[0]) : -1;
}

TEST(flynn_taxonomy_timing, vectors_are_a_multiple_as_fast_as_single_numbers) {
  const auto result = run("flynn_taxonomy");
  const auto lanes = result.captures("a vector here has (\\d+) lanes");
  ASSERT_EQ(lanes.size(), 1U) << result.text();
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  if (std::stoi(lanes[0]) >= 8) {
    EXPECT_GT(rate(result, "SIMD"), 2 * rate(result, "SISD, branch by mask")) << result.text();
  }
#endif
  EXPECT_GT(rate(result, "SISD"), 0) << result.text();
}

}  // namespace

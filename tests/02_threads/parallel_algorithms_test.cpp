// Parallel algorithms: the program seen from outside. Goals: performance.md, parallel_algorithms.

#include <algorithm>
#include <cstdint>
#include <random>

#include "support/run.hpp"

namespace {

using test_support::run;

/// The sum, modulo 2^32, of the numbers that the recipe makes: chunks of 2^18, each from a generator of its own, seeded
/// with the number of the chunk.
std::uint32_t sum_of_random(std::size_t size) {
  constexpr std::size_t chunk = 1 << 18;
  std::uint32_t sum = 0;
  for (std::size_t begin = 0; begin < size; begin += chunk) {
    std::mt19937 random(static_cast<std::uint32_t>(begin / chunk));
    for (std::size_t i = begin; i < std::min(begin + chunk, size); ++i) sum += static_cast<std::uint32_t>(random());
  }
  return sum;
}

std::vector<std::string> small(std::size_t numbers, int threads) {
  return {"--numbers", std::to_string(numbers), "--threads", std::to_string(threads), "--rounds", "1"};
}

TEST(parallel_algorithms, all_forms_agree_for_any_size_and_thread_count) {
  // Less than a chunk, a chunk and one number, several chunks in the scan too, blocks of the sort that are no equal
  // shares, more threads than processors.
  for (const std::size_t numbers : {1'000U, 262'145U, 1'048'583U, 2'500'011U}) {
    const std::string sum = std::to_string(sum_of_random(numbers));
    for (const int threads : {1, 2, 3, 7}) {
      const auto result = run("parallel_algorithms", small(numbers, threads));
      ASSERT_EQ(result.exit_code, 0) << result.text();
      EXPECT_EQ(result.captures("sum by one thread: (\\d+)"), std::vector<std::string>{sum});
      EXPECT_TRUE(result.has_line("ok    sum, std::execution::par: " + sum)) << result.text();
      EXPECT_TRUE(result.has_line("ok    sum, oneTBB: " + sum)) << result.text();
      EXPECT_TRUE(result.has_line("ok    sum, threads by hand: " + sum)) << result.text();
      EXPECT_EQ(result.lines_with("^ok    wrong in (multiply-add|scan), .*: 0$").size(), 6U) << result.text();
      EXPECT_EQ(result.lines_with("^ok    sorted by .*: yes$").size(), 3U) << result.text();
    }
  }
}

TEST(parallel_algorithms, every_table_has_its_limit_and_its_peer) {
  const auto result = run("parallel_algorithms", {"--json", "--numbers", "100000", "--rounds", "3"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string table : {"sum", "multiply-add", "scan", "sort"}) {
    const std::string record = "\"table\": \"" + table + "\", \"row\": ";
    for (const std::string row : {"one thread", "std::execution::par", "oneTBB", "threads by hand"}) {
      EXPECT_EQ(result.lines_with(record + "\"" + row + "\".*\"runs\": 3.*\"peer\": \"oneTBB\"").size(), 1U)
          << table << ", " << row << result.text();
    }
    EXPECT_EQ(result.lines_with(record + ".*\"share_of_limit\": 1,").size(), 1U) << table << result.text();
  }
}

TEST(parallel_algorithms, speeds_are_not_shown_for_wrong_results) {
  const auto result = run("parallel_algorithms", small(100'000, 2), {.environment = {{"COOKBOOK_FAULT", "1"}}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(result.lines_with("GB/s|numbers/s").empty()) << result.text();
}

TEST(parallel_algorithms, threads_by_hand_keep_up_with_the_library) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer slows down our code, not oneTBB's";
#endif
  // The goal for sum and sort is 1.0; half of it leaves room for a machine that is busy with something else, and one
  // run of five will do.
  std::string text;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto result = run("parallel_algorithms", {"--numbers", "33554432", "--rounds", "5"});
    const auto by_hand = result.captures("threads by hand.* ([0-9.]+) x$");
    ASSERT_EQ(by_hand.size(), 4U) << result.text();
    if (std::stod(by_hand.front()) >= 0.5 && std::stod(by_hand.back()) >= 0.5) return;
    text = result.text();
  }
  FAIL() << text;
}

TEST(parallel_algorithms, ctrl_c_ends_it_at_once) {
  const auto result = run("parallel_algorithms", {"--rounds", "1000"}, {.interrupt_after_ms = 500});
  EXPECT_EQ(result.exit_code, -2) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

}  // namespace

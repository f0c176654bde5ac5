// Flynn's taxonomy: the four ways in the process, the program seen from outside.

#include "01_getting_started/flynn_taxonomy/four_ways.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/files.hpp"
#include "support/most_at_once.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

std::vector<Number> random_row(std::size_t size) {
  std::vector<Number> row(size);
  std::generate(row.begin(), row.end(), std::mt19937(1));
  return row;
}

/// The three sums, computed here in the plainest way.
Sums plain_sums(Numbers row) {
  Sums sums(3);
  for (const std::uint32_t x : row) {
    sums[0] += x;
    sums[1] += x * x;
    sums[2] += x % 2 == 1 ? 3 * x + 1 : x / 2;
  }
  return sums;
}

TEST(flynn_taxonomy, all_four_ways_give_the_right_sums_for_any_size) {
  for (const std::size_t size : {1U, 3U, 15U, 16U, 17U, 1'000U, 100'000U}) {
    const std::vector<Number> row = random_row(size);
    const Sums expected = plain_sums(row);
    EXPECT_EQ(sisd(row), expected) << size;
    EXPECT_EQ(sisd_one_loop(row), expected) << size;
    EXPECT_EQ(compilers_choice(row), expected) << size;
    EXPECT_EQ(simd(row), expected) << size;
    EXPECT_EQ(misd(row, 1'000), expected) << size;
    for (const auto way : {sisd, simd}) EXPECT_EQ(mimd(row, 1'000, 4, way), expected) << size;
  }
}

TEST(flynn_taxonomy, any_piece_and_any_number_of_threads_will_do) {
  const std::vector<Number> row = random_row(2'000);
  for (const std::size_t piece : {1U, 7U, 1'999U, 2'000U, 268'435'456U}) {
    EXPECT_EQ(misd(row, piece), plain_sums(row)) << piece;
    for (const std::size_t threads : {1U, 2U, 16U})
      EXPECT_EQ(mimd(row, piece, threads, simd), plain_sums(row)) << piece;
  }
}

TEST(flynn_taxonomy, no_way_reads_what_stands_behind_the_numbers) {
  const std::vector<Number> longer = random_row(5'000);
  for (const std::size_t size : {1'995U, 1'996U, 1'997U, 1'998U, 1'999U, 2'000U}) {
    const Numbers row = Numbers(longer).first(size);
    const Sums expected = plain_sums(row);
    EXPECT_EQ(sisd(row), expected) << size;
    EXPECT_EQ(simd(row), expected) << size;
    for (const std::size_t piece : {1U, 2U, 3U, 5U, 1'000U, 1'998U}) {
      EXPECT_EQ(misd(row, piece), expected) << size << ", piece " << piece;
      EXPECT_EQ(mimd(row, piece, 2, sisd), expected) << size << ", piece " << piece;
    }
  }
}

TEST(flynn_taxonomy, no_thread_of_mimd_overwrites_what_another_one_has_added) {
  // 90,000 additions to three sums. It takes two to the same sum at the same time to lose one, hence the repetition.
  const std::vector<Number> row = random_row(300'000);
  const Sums expected = plain_sums(row);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(mimd(row, 10, 4, sisd), expected) << "in run " << i;
}

/// The most threads beside those of before that have existed at the same time while `way` was run.
template <typename Way>
std::size_t most_threads_at_once(std::size_t wanted, Way way) {
  std::jthread([] {}).join();  // with the first one, ThreadSanitizer starts a thread of its own
  return test_support::most_at_once(test_support::threads_of_this_process, wanted, way);
}

TEST(flynn_taxonomy, misd_and_mimd_have_their_threads_at_the_same_time) {
  const std::vector<Number> row = random_row(2'000'000);
  EXPECT_EQ(most_threads_at_once(3, [&] { misd(row, 10'000); }), 3U);
  EXPECT_EQ(most_threads_at_once(5, [&] { mimd(row, 10'000, 5, sisd); }), 5U);
}

std::atomic<int> pieces_asked_for;

Sums count_call(Numbers piece) {
  ++pieces_asked_for;
  return {piece[0], 0, static_cast<Number>(piece.size())};
}

TEST(flynn_taxonomy, mimd_does_each_piece_once_by_the_way_that_it_is_given) {
  const std::vector<Number> row(1'003, 1);
  EXPECT_EQ(mimd(row, 10, 3, count_call), (Sums{101, 0, 1'003}));
  EXPECT_EQ(pieces_asked_for, 101);
}

// How many pieces each function of a MISD machine has done, and whether one was ahead by more than one piece.
std::array<std::atomic<int>, 3> pieces_done;
std::atomic<bool> one_was_ahead;

template <std::size_t function>
Number count_piece(Numbers piece) {
  for (const std::atomic<int>& others : pieces_done) one_was_ahead = one_was_ahead || pieces_done[function] > others;
  if (function == 1 && pieces_done[function] % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ++pieces_done[function];
  return piece[0];
}

TEST(flynn_taxonomy, no_function_of_misd_begins_a_piece_before_all_have_done_the_one_before) {
  const std::vector<Number> row(1'000, 1);
  EXPECT_EQ(misd(row, 10, {count_piece<0>, count_piece<1>, count_piece<2>}), (Sums{100, 100, 100}));
  EXPECT_FALSE(one_was_ahead);
  EXPECT_THAT(pieces_done, testing::Each(testing::Eq(100))) << "no meeting without a piece";
}

TEST(flynn_taxonomy, sisd_and_simd_have_one_thread) {
  const std::vector<Number> row = random_row(100'000);
  const auto seen = [&](auto way) {
    int runs = 0;
    return most_threads_at_once(1, [&] {
      way(row);
      if (++runs == 100) throw runs;  // long enough
    });
  };
  EXPECT_THROW(seen(sisd), int);
  EXPECT_THROW(seen(sisd_one_loop), int);
  EXPECT_THROW(seen(simd), int);
}

TEST(flynn_taxonomy, the_program_has_a_row_per_way_and_says_how_many_lanes_it_has) {
  const auto result = run("flynn_taxonomy", {"--numbers", "1003", "--piece", "100", "--threads", "3"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  std::ostringstream expected;
  const Sums sums = plain_sums(random_row(1'003));
  expected << "1003 numbers x, sums of x, x * x and branch(x): [" << sums[0] << ", " << sums[1] << ", " << sums[2]
           << ']';
  EXPECT_TRUE(result.has_line(expected.str())) << expected.str() << result.text();
  const std::string times = " +[0-9.]+ us +[0-9.]+ x +[0-9.]+ us$", of_simd = std::to_string(lanes);
  EXPECT_EQ(result.captures("^(S[^ ]+|c.*choice|M.*D)  +\\d thread.* (?:\\d+|-)" + times),
            (std::vector<std::string>{"SISD", "SISD", "compiler's choice", "SIMD", "MISD", "MIMD", "MIMD of SIMD"}))
      << result.text();
  EXPECT_EQ(result.captures(" (\\d+|-)" + times),
            (std::vector<std::string>{"1", "1", "-", of_simd, "1", "1", of_simd}));
  EXPECT_EQ(result.captures("^M.* (\\d) threads"), (std::vector<std::string>{"3", "3", "3"})) << result.text();
  EXPECT_EQ(result.captures("^SISD .* ([0-9.]+) x ")[0], "1.00") << result.text();
}

#ifdef __x86_64__
// Compiled for each kind of processor, whatever this machine has.
TEST(flynn_taxonomy, there_are_as_many_lanes_as_the_longest_vectors_of_a_processor_have) {
  const test_support::TemporaryDirectory folder;
  const std::string source = folder.path / "lanes.cpp";
  const auto header = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() /
                      "chapters/01_getting_started/flynn_taxonomy/four_ways.hpp";
  for (const auto& [processor, expected] : {std::pair("x86-64", 4), {"haswell", 8}, {"skylake-avx512", 16}}) {
    std::ofstream(source) << "#include " << header << "\nstatic_assert(lanes == " << expected << ");\n";
    const auto compiled =
        run("/usr/bin/env", {"g++", "-std=c++20", "-fsyntax-only", "-march=" + std::string(processor), source});
    EXPECT_EQ(compiled.exit_code, 0) << processor << "\n" << compiled.text();
  }
}
#endif

TEST(flynn_taxonomy_timing, simd_gains_by_its_lanes_too) {
  // All numbers are odd, so nothing is to be gained by not having to guess.
  std::vector<Number> row = random_row(1'000'000);
  for (Number& x : row) x |= 1;
  const Sums expected = plain_sums(row);
  const auto shortest = [&](auto way) {
    auto best = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 9; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const Sums sums = way(row);
      best = std::min(best, std::chrono::steady_clock::now() - begin);
      EXPECT_EQ(sums, expected);
    }
    return best;
  };
  // If the compiler made SIMD of SISD's loops, they would take twice as long as SIMD, and the one loop no longer than
  // it.
#ifdef __AVX2__
  EXPECT_GT(shortest(sisd), 3 * shortest(simd));
  EXPECT_GT(shortest(sisd_one_loop), 1.5 * shortest(simd));
#else
  EXPECT_GT(shortest(sisd), 1.5 * shortest(simd));
#endif
}

TEST(flynn_taxonomy_timing, simd_is_faster_than_sisd_and_loses_nothing_if_numbers_are_mixed) {
  const auto result = run("flynn_taxonomy");
  const auto gain = result.captures("^SIMD .* ([0-9.]+) x ");
  ASSERT_EQ(gain.size(), 1U) << result.text();
  EXPECT_GT(std::stod(gain[0]), 1.5) << result.text();
  const auto sisd_mixed = result.captures("^SISD .* x +([0-9.]+) us$");
  const auto simd_mixed = result.captures("^SIMD .* x +([0-9.]+) us$");
  EXPECT_GT(std::stod(sisd_mixed[0]), 3 * std::stod(simd_mixed[0])) << result.text();
}

}  // namespace

// A tour of the language: its header from inside, the program from outside. Catalogue: 1.1 to 1.10.

#include "01_getting_started/language_tour/fibonacci.hpp"

#include <numeric>

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(fibonacci, seventeen_numbers_are_below_2000) {
  const std::vector<long> numbers = series::fibonacci_below(2000);
  ASSERT_EQ(numbers.size(), 17U);
  EXPECT_EQ(numbers.back(), 1597);
  EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), 0L), 4180);
  EXPECT_EQ(numbers.end()[-2] + numbers.back(), 2584);
}

TEST(fibonacci, the_limit_itself_is_left_out) {
  EXPECT_TRUE(series::fibonacci_below(1).empty());
  EXPECT_EQ(series::fibonacci_below(2), (std::vector<long>{1, 1}));
  EXPECT_EQ(series::fibonacci_below(13).back(), 8);
  EXPECT_EQ(series::fibonacci_below(14).back(), 13);
}

TEST(fibonacci, the_largest_limit_of_the_program_does_not_overflow) {
  EXPECT_EQ(series::fibonacci_below(4'000'000'000'000'000'000).back(), 2'880'067'194'370'816'120);
}

TEST(language_tour, every_step_finds_what_it_should) {
  const auto result = run("language_tour", {"--below", "14"});
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("Fibonacci numbers below 14: 1 1 2 3 5 8 13")) << result.text();
  for (const std::string line :
       {"1 height, width times height: [45, 900]", "2 parts of a = 1.5 + 0.5i, modulus of 3 + 4i: [1.5, 0.5, 5]",
        "3 word: HelpA", "3 element 4, two from 0 on, last, length: A, He, A, 5",
        "4 first, last, last but one, slice: [\"spam\", \"1234\", \"100\", \"eggs\", \"100\"]",
        "4 list after a change of the slice: [\"spam\", \"eggs\", \"100\", \"1234\"]",
        "5 Fibonacci numbers below 10: [1, 1, 2, 3, 5, 8]",
        "6 kinds: [\"negative\", \"zero\", \"one\", \"more\", \"more\", \"no number\", \"no number\"]",
        "7 words and lengths: [\"cat 3\", \"window 6\", \"defenestrate 12\"]",
        "8 numbers below 2 and below 1: [[1, 1], []]", "10 x and y: [3, -4.5, 6, -4.5]", "10 modulus of y: 7.5"}) {
    EXPECT_TRUE(result.has_line("ok    " + line)) << line << "\n" << result.text();
  }
  const auto modulus = result.captures("^ok    2 modulus of a: ([0-9.]+)$");
  const auto sine = result.captures("^ok    9 sin\\(1\\) \\+ log\\(2\\): ([0-9.]+)$");
  ASSERT_EQ(modulus.size() + sine.size(), 2U) << result.text();
  EXPECT_NEAR(std::stod(modulus[0]), 1.5811388300841898, 1e-15);
  EXPECT_NEAR(std::stod(sine[0]), 1.5346181653678418, 1e-15);
}

TEST(language_tour, an_index_behind_the_end_is_an_error) {
  const std::string word = "HelpA";
  EXPECT_THROW(static_cast<void>(word.at(5)), std::out_of_range);
}

TEST(language_tour_assignments, doubles_instead_of_adding) {
  const auto result = run("language_tour_assignments");
  ASSERT_FALSE(result.out.empty());
  EXPECT_EQ(result.out[0], "1 2 4 8 ");
}

}  // namespace

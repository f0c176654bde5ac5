// A tour of the language: the program seen from outside. Catalogue: 1.1 to 1.10.

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(language_tour, every_step_finds_what_it_should) {
  const auto result = run("language_tour");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string line : {"1 height: 45",
                                 "1 width times height: 900",
                                 "2 real part: 1.5",
                                 "2 imaginary part: 0.5",
                                 "2 modulus of 3 + 4i: 5",
                                 "3 word: HelpA",
                                 "3 its length: 5",
                                 "3 element 4: A",
                                 "3 two characters from 0 on: He",
                                 "3 last element: A",
                                 "3 element 5 is refused: true",
                                 "4 element 0: spam",
                                 "4 element 3: 1234",
                                 "4 last but one: 100",
                                 "4 slice: eggs, 100",
                                 "4 length: 4",
                                 "4 element 1 after a change of the slice: eggs",
                                 "5 Fibonacci below 10: [1, 1, 2, 3, 5, 8]",
                                 "5 the same with a = b; b = a + b: [1, 2, 4, 8]",
                                 "6 kinds of -5, 0, 1, 2, 1000, abc, 7x: [\"negative\", \"zero\", \"one\", \"More\", "
                                 "\"More\", \"refused\", \"refused\"]",
                                 "7 words and lengths: [\"cat 3\", \"window 6\", \"defenestrate 12\"]",
                                 "7 sum of the lengths: 21",
                                 "8 Fibonacci numbers below 2000: 17",
                                 "8 the last: 1597",
                                 "8 their sum: 4180",
                                 "8 the next: 2584",
                                 "8 numbers below 1: 0",
                                 "8 numbers below 2: [1, 1]",
                                 "9 log(1): 0",
                                 "10 x: (3.0, -4.5)",
                                 "10 x.r and y.r after y = x and y.r = 8: [3, 8]"}) {
    EXPECT_TRUE(result.has_line("ok    " + line)) << line << "\n" << result.text();
  }
}

/// The single number that a line of the program has after `what`.
double number_after(const std::string& what) {
  const auto found = run("language_tour").captures("ok    " + what + ": ([0-9.]+)$");
  return found.size() == 1 ? std::stod(found[0]) : -1;
}

TEST(language_tour, modulus_and_sine_are_right_to_the_last_digit) {
  EXPECT_NEAR(number_after("2 modulus of 1\\.5 \\+ 0\\.5i"), 1.5811388300841898, 1e-15);
  EXPECT_NEAR(number_after("9 sin\\(1\\)"), 0.8414709848078965, 1e-15);
  EXPECT_NEAR(number_after("10 its modulus"), 5.408326913195984, 1e-15);
}

TEST(language_tour, names_the_kind_of_a_number) {
  const std::map<std::string, std::string> kinds = {
      {"-5", "negative"}, {"0", "zero"}, {"1", "one"}, {"2", "More"}, {"1000", "More"}};
  for (const auto& [number, kind] : kinds) {
    const auto result = run("language_tour", {"--number=" + number});
    EXPECT_EQ(result.out.at(0), number + " is " + kind) << result.text();
  }
}

TEST(language_tour, a_text_that_is_no_number_is_refused) {
  const auto result = run("language_tour", {"--number", "abc"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("abc"));
}

TEST(language_tour, prints_the_fibonacci_numbers_below_any_limit) {
  const std::map<std::string, std::string> lines = {{"1", ""},
                                                    {"2", "1 1"},
                                                    {"10", "1 1 2 3 5 8"},
                                                    {"14", "1 1 2 3 5 8 13"},
                                                    {"2000", "1 1 2 3 5 8 13 21 34 55 89 144 233 377 610 987 1597"}};
  for (const auto& [below, numbers] : lines) {
    const auto result = run("language_tour", {"--below", below});
    EXPECT_EQ(result.out.at(1), "below " + below + ": " + numbers) << result.text();
  }
  // The largest limit: the last number is below it, and their sum is the next number but one, less 1.
  const auto result = run("language_tour", {"--below", "4000000000000000000"});
  EXPECT_THAT(result.out.at(1), testing::EndsWith(" 1779979416004714189 2880067194370816120")) << result.text();
}

}  // namespace

// A tour of the language: its header from inside, the program from outside. Catalogue: 1.1 to
// 1.10.

#include "01_getting_started/language_tour/fibonacci.hpp"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "support/run.hpp"

namespace {

using test_support::run;

TEST(language_tour_fibonacci, seventeen_numbers_are_below_2000) {
  const std::vector<long> numbers = series::fibonacci_below(2000);
  ASSERT_EQ(numbers.size(), 17U);
  EXPECT_EQ(numbers.back(), 1597);
  EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), 0L), 4180);
  EXPECT_EQ(numbers.end()[-2] + numbers.back(), 2584);
}

TEST(language_tour_fibonacci, the_limit_itself_is_left_out) {
  EXPECT_TRUE(series::fibonacci_below(1).empty());
  EXPECT_EQ(series::fibonacci_below(2), (std::vector<long>{1, 1}));
  EXPECT_EQ(series::fibonacci_below(13).back(), 8);
  EXPECT_EQ(series::fibonacci_below(14).back(), 13);
}

TEST(language_tour_fibonacci, a_limit_near_the_largest_long_does_not_overflow) {
  EXPECT_EQ(series::fibonacci_below(4'000'000'000'000'000'000).back(), 2'880'067'194'370'816'120);
}

/// The cells of the rows: number, in Python, in C++, Python gives, C++ gives.
std::vector<std::vector<std::string>> rows(const test_support::Result& result) {
  std::vector<std::vector<std::string>> cells;
  for (const std::string& line : result.lines_with("^ ?\\d+ ")) {
    const auto cell = [&](std::size_t from, std::size_t length) {
      const std::string text = line.substr(std::min(from, line.size()), length);
      return text.substr(0, text.find_last_not_of(' ') + 1);
    };
    cells.push_back({std::to_string(std::stoi(line)), cell(3, 37), cell(40, 41), cell(81, 19), cell(100, 99)});
  }
  return cells;
}

TEST(language_tour, every_step_gives_what_the_page_says) {
  const auto result = run("language_tour");
  ASSERT_EQ(result.exit_code, 0) << result.text();
  std::vector<std::string> numbers, values, differing;
  for (const auto& row : rows(result)) {
    numbers.push_back(row[0]);
    values.push_back(row[4]);
    if (row[3] != row[4]) differing.push_back(row[0]);
  }
  EXPECT_THAT(numbers, testing::ElementsAre("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"))
      << result.text();
  EXPECT_THAT(values, testing::ElementsAre("22", "elp", "7", "3.0, 6.0", "1 2 3", "cats windows", "[[1], [2]]", "0, 1",
                                           "1", "1 1 2 3 5 8", "- 0 + error error", "eggs, ham", "1.5811, 0.6931"))
      << result.text();
  EXPECT_THAT(differing, testing::ElementsAre("1", "2", "3", "4", "5", "6", "7", "8", "9")) << result.text();
}

TEST(language_tour, python_gives_what_the_table_says_of_it) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  const auto python = run("/usr/bin/python3", {"-c", R"(
import math
height = 5 * 9
print(height / 2)
print("HelpA"[1:3])
try: print(int("7x"))
except ValueError as error: print(type(error).__name__)
class Complex:
    def __init__(self, r, i): self.r = r; self.i = i
x = Complex(3.0, -4.5)
y = x; y.r = 6.0
print(x.r, y.r, sep=", ")
def append(numbers): numbers += [4]
numbers = [1, 2, 3]
append(numbers)
print(*numbers)
words = ["cat", "window"]
for word in words: word += "s"
print(*words)
rows = [[1], [2]]
for row in rows: row.append(0)
print(rows)
count = {}
try: print(count["no"], len(count))
except KeyError as error: print(type(error).__name__)
n = 1
f = lambda: n; n = 2
print(f())
a, b, found = 0, 1, []
while b < 10:
    found.append(b)
    a, b = b, a + b
print(*found)
def sign_of(number): return "-" if number < 0 else "0" if number == 0 else "+"
def sign_or_error(text):
    try: return sign_of(int(text))
    except ValueError: return "error"
print(*map(sign_or_error, ("-5", "0", "7", "7x", "")))
list = ["spam", "eggs", 100, 1234]
p = list[1:-1]; p[0] = "ham"
print(list[1], p[0], sep=", ")
print(f"{abs(1.5 + 0.5j):.4f}, {math.log(2):.4f}")
)"});
  ASSERT_EQ(python.exit_code, 0) << python.text();
  std::vector<std::string> said;
  for (const auto& row : rows(run("language_tour"))) said.push_back(row[3]);
  EXPECT_EQ(said, python.out);
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

// A tour of the language: its header from inside, the program from outside. Catalogue: 1.1 to
// 1.10.

#include "01_getting_started/language_tour/fibonacci.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

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

/// The cells of the rows: number, in Python, in C++, Python gives, C++ gives, and "differs" or nothing.
std::vector<std::vector<std::string>> rows(const test_support::Result& result) {
  std::vector<std::vector<std::string>> cells;
  for (const std::string& line : result.lines_with("^ ?\\d+ ")) {
    const auto cell = [&](std::size_t from, std::size_t length) {
      const std::string text = line.substr(std::min(from, line.size()), length);
      return text.substr(0, text.find_last_not_of(' ') + 1);
    };
    std::vector<std::string> row = {
        std::to_string(std::stoi(line)), cell(3, 38), cell(41, 43), cell(84, 19), cell(103, 99), ""};
    if (const std::size_t end = row[4].find("  "); end != std::string::npos) {
      row[5] = row[4].substr(row[4].find_last_of(' ') + 1);
      row[4].resize(end);
    }
    cells.push_back(row);
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
    EXPECT_EQ(row[5], row[3] != row[4] ? "differs" : "") << row[0];
  }
  EXPECT_THAT(numbers, testing::ElementsAre("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"))
      << result.text();
  EXPECT_THAT(values, testing::ElementsAre("22", "elp", "7", "3.0, 6.0", "1.0", "1 2 3", "cats windows", "[[1], [2]]",
                                           "0, 1", "1", "2", "1 1 2 3 5 8", "- 0 + error error"))
      << result.text();
  EXPECT_THAT(differing, testing::ElementsAre("1", "2", "3", "4", "5", "6", "7", "8", "9", "10")) << result.text();
}

/// C++ without blanks, std:: and const.
std::string squeezed(std::string text) {
  for (const std::string word : {"std::", "const ", " ", "\n"}) {
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;) text.erase(at, word.size());
  }
  return text;
}

TEST(language_tour, the_cpp_of_the_table_is_what_the_functions_execute) {
  const auto folder = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() /
                      "chapters/01_getting_started/language_tour";
  std::string code;
  for (const char* name : {"language_tour.cpp", "fibonacci.hpp"}) {
    std::ifstream file(folder / name);
    ASSERT_TRUE(file) << name;
    for (std::string line; std::getline(file, line) && !line.starts_with("struct Step");) {
      code += line.substr(0, line.find("//")) + '\n';
    }
  }
  code = squeezed(code);
  for (const auto& row : rows(run("language_tour"))) {
    const std::string cpp = squeezed(row[2]);
    for (std::size_t from = 0; from < cpp.size();) {  // statement by statement
      const std::size_t end = std::min(cpp.find(';', from), cpp.size());
      EXPECT_NE(code.find(cpp.substr(from, end - from)), std::string::npos) << row[0] << ": " << row[2];
      from = end + 1;
    }
  }
}

TEST(language_tour, python_gives_what_the_table_says_of_it) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  const auto python = run("/usr/bin/python3", {"-c", R"(
print(45 / 2)
print("HelpA"[1:3])
try: print(int("7x"))
except ValueError as error: print(type(error).__name__)
class Complex:
    def __init__(self, r, i): self.r = r; self.i = i
x = Complex(3.0, -4.5)
y = x; y.r = 6.0
print(x.r, y.r, sep=", ")
x, z = Complex(3.0, -4.5), Complex(1.0, 0.0)
y = x; y = z
print(x.r)
def append(n): n += [4]
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

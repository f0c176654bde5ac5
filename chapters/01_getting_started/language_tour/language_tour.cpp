// A tour of the language
//
// Ten small steps for those who come from Python: integers, complex numbers, strings, lists, a while loop, branches, a
// for loop, a function, names from libraries, a class. Each is a short function for something that one can do in
// Python. The table shows what Python gives, which is written into this program, and what C++ gives.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/language_tour/language_tour.cpp common/cookbook/*.cpp -lfmt -o language_tour
// Run:     language_tour [--differing]

#include <charconv>
#include <cmath>
#include <complex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "fibonacci.hpp"

namespace {

// 1. Integers: height and 2 are both of type int, and so is height / 2.
std::string integers() {
  const int width = 20;
  const auto height = 5 * 9;  // auto: the compiler finds the type, here int, and it cannot change later
  return fmt::format("{}, {}", width * height, height / 2);
}

// 2. Complex numbers: std::abs gives the modulus.
std::string complex_numbers() {
  using namespace std::complex_literals;  // for the i at the end of 0.5i
  return fmt::format("{:.4f}", std::abs(1.5 + 0.5i));
}

// 3. Strings: indices start at 0, and the second argument of substr is a length.
std::string strings() {
  const std::string word = std::string("Help") + "A";
  return fmt::format("{}, {}, {}", word[4], word.back(), word.substr(1, 3));
}

// 4. Lists: the type of a list says which types its elements may have. A slice is a copy.
std::string lists() {
  using Thing = std::variant<std::string, int>;  // a string or an int, and it knows which
  const std::vector<Thing> list = {"spam", "eggs", 100, 1234};
  std::vector<Thing> slice(list.begin() + 1, list.end() - 1);  // copies of "eggs" and 100
  slice[0] = "ham";
  return fmt::format("{}, {}, {}", std::get<std::string>(list[1]), std::get<std::string>(slice[0]), slice.size());
}

// 5. while: fibonacci_below is in a header of our own, fibonacci.hpp.
std::string while_loop() { return fmt::format("{}", fmt::join(series::fibonacci_below(10), " ")); }

// 6. if: this function decides what kind of number it is given.
std::string kind_of(int number) {
  if (number < 0) return "negative";
  if (number == 0) return "zero";
  return "positive";
}

/// The number that `text` is; empty if it is not a whole number, or too large for an int.
std::optional<int> whole_number(const std::string& text) {
  const char* const text_end = text.data() + text.size();
  int number = 0;
  // from_chars has two results: where it has stopped, and an error, which equals errc() if there was none.
  const auto [end, error] = std::from_chars(text.data(), text_end, number);
  if (error != std::errc() || end != text_end) return std::nullopt;
  return number;
}

// std::stoi reads the number at the beginning of a text, and ignores the rest.
std::string branches() { return kind_of(std::stoi("7x")); }

// The same with whole_number.
std::string strict_branches() {
  std::vector<std::string> kinds;
  for (const char* text : {"-5", "0", "7x", ""}) {
    const std::optional<int> number = whole_number(text);
    kinds.push_back(number ? kind_of(*number) : "refused");  // *number is what the optional holds
  }
  return fmt::format("{}", fmt::join(kinds, ", "));
}

// 7. for: each word is a reference to the element, not a name for its value.
std::string for_loop() {
  std::vector<std::string> words = {"cat", "window"};
  for (std::string& word : words) word += "s";
  return fmt::format("{} {}", fmt::join(words, " "), words[1].size());
}

// 8. A function: its parameter is a new vector.
void append(std::vector<int> numbers) { numbers.push_back(4); }
std::string functions() {
  const std::vector<int> numbers = {1, 2, 3};
  append(numbers);
  return fmt::format("{}", fmt::join(numbers, " "));
}

// 9. Names from libraries: std::sin with its namespace, log without, as after `from math import log`.
std::string names() {
  using std::log;
  return fmt::format("{:.4f}", std::sin(1.0) + log(2.0));
}

// 10. A class: y is a new object.
class Complex {
 public:
  Complex(double real, double imaginary) : r(real), i(imaginary) {}  // the constructor, __init__ in Python
  double r, i;
};
std::string classes() {
  const Complex x(3.0, -4.5);
  Complex y = x;
  y.r = 6.0;
  return fmt::format("{:.1f}, {:.1f}", x.r, y.r);
}

struct Step {
  int number;
  std::string what, python, cpp;
};

}  // namespace

int main(int argc, char** argv) {
  bool differing = false;
  cookbook::Options options("Tour the language in ten small steps, and see where they differ from Python");
  options.add_flag("differing", differing, "print only the steps in which C++ differs from Python");
  options.parse(argc, argv);

  const std::vector<Step> steps = {
      {1, "integers: width * height, height / 2", "900, 22.5", integers()},
      {2, "complex: modulus of 1.5 + 0.5i", "1.5811", complex_numbers()},
      {3, "strings: word[4], last, word[1:3]", "A, A, el", strings()},
      {4, "lists: list[1], slice[0], len(slice)", "eggs, ham, 2", lists()},
      {5, "while: Fibonacci numbers below 10", "1 1 2 3 5 8", while_loop()},
      {6, "if: kind of the text 7x", "ValueError", branches()},
      {6, "if: kinds of -5, 0, 7x, \"\", strictly", "negative, zero, refused, refused", strict_branches()},
      {7, "for: words after += \"s\", length of 2nd", "cat window 6", for_loop()},
      {8, "functions: list after append(list)", "1 2 3 4", functions()},
      {9, "names: sin(1) + log(2)", "1.5346", names()},
      {10, "classes: x.r, y.r after y = x, y.r = 6", "6.0, 6.0", classes()},
  };
  cookbook::println("{:<44}{:<33}{}", "step", "in Python", "in C++");
  std::vector<int> different;
  for (const auto& [number, what, python, cpp] : steps) {  // & makes references: without it each turn makes a copy
    const bool same = python == cpp;
    if (!same) different.push_back(number);
    if (!same || !differing) {
      cookbook::println("{:>2} {:<41}{:<33}{:<33}{}", number, what, python, cpp, same ? "same" : "differs");
    }
  }

  cookbook::Checks checks;
  checks.equal("steps that differ", different, {1, 3, 6, 7, 8, 10});
  return checks.exit_code();
}

// A tour of the language
//
// Ten small steps for those who come from Python, each with its check: integers, complex numbers, strings, a list of
// different types, a while loop, branches, a for loop, a function, names from libraries, a class. The other recipes
// take these steps for granted. Look at what differs: a variable has a type, and keeps it; a copy is a new object.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/language_tour/language_tour.cpp common/cookbook/*.cpp -lfmt -o language_tour
// Run:     language_tour [--below N]

#include <charconv>
#include <cmath>
#include <complex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "fibonacci.hpp"

namespace {

/// The number that `text` is, or nothing if it is not a whole number.
std::optional<int> whole_number(const std::string& text) {
  int number = 0;
  // from_chars reads digits. It has two results, as if it were `end, error = ...` in Python: `end` is where it has
  // stopped, and `error` equals errc() if there was no error.
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string kind_of(int number) {
  if (number < 0) return "negative";
  if (number == 0) return "zero";
  if (number == 1) return "one";
  return "more";
}

using Thing = std::variant<std::string, int>;  // a string or an int, and it knows which

std::vector<std::string> texts_of(const std::vector<Thing>& things) {
  std::vector<std::string> texts;
  for (const Thing& thing : things) {  // & makes a reference: without it each turn would copy the element
    texts.push_back(std::visit([](const auto& value) { return fmt::format("{}", value); }, thing));
  }
  return texts;
}

/// A small class of our own, to show one; programs use std::complex.
class Complex {
 public:
  Complex(double real, double imaginary) : r(real), i(imaginary) {}  // the constructor, __init__ in Python
  double modulus() const { return std::sqrt(r * r + i * i); }

  double r, i;
};

}  // namespace

int main(int argc, char** argv) {
  long below = 100;
  cookbook::Options options("Tour the language in ten small steps");
  options.add("below", below, "print the Fibonacci numbers below this", 1, 4'000'000'000'000'000'000);
  options.parse(argc, argv);
  cookbook::Checks checks;

  const int width = 20;       // 1. integers
  const auto height = 5 * 9;  // auto: the compiler finds the type, here int; it cannot change later
  checks.equal("1 height, width times height", std::vector{height, width * height}, {45, 900});

  using namespace std::complex_literals;  // 2. complex numbers; this is for the i at the end of one
  const std::complex<double> a = 1.5 + 0.5i;
  const std::vector<double> parts = {a.real(), a.imag(), std::abs(3.0 + 4.0i)};
  checks.equal("2 parts of a = 1.5 + 0.5i, modulus of 3 + 4i", parts, {1.5, 0.5, 5});
  checks.within("2 modulus of a", std::abs(a), 1.5811388300841898 - 1e-15, 1.5811388300841898 + 1e-15);

  const std::string word = std::string("Help") + "A";  // 3. strings
  const std::string pieces = fmt::format("{}, {}, {}, {}", word[4], word.substr(0, 2), word.back(), word.size());
  checks.equal("3 word", word, "HelpA");
  checks.equal("3 element 4, two from 0 on, last, length", pieces, "A, He, A, 5");

  const std::vector<Thing> list = {"spam", "eggs", 100, 1234};  // 4. a list of different types
  std::vector<Thing> slice(list.begin() + 1, list.end() - 1);   // copies of "eggs" and 100
  const std::vector<Thing> found = {list[0], list[3], list.end()[-2], slice[0], slice[1]};
  slice[0] = "ham";  // does not change the list
  checks.equal("4 first, last, last but one, slice", texts_of(found), {"spam", "1234", "100", "eggs", "100"});
  checks.equal("4 list after a change of the slice", texts_of(list), {"spam", "eggs", "100", "1234"});

  std::vector<int> numbers;  // 5. while
  int previous = 0, current = 1;
  while (current < 10) {
    numbers.push_back(current);
    previous = std::exchange(current, previous + current);  // sets current, and returns its old value
  }
  checks.equal("5 Fibonacci numbers below 10", numbers, {1, 1, 2, 3, 5, 8});

  std::vector<std::string> kinds;  // 6. if
  for (const char* text : {"-5", "0", "1", "2", "1000", "7x", "abc"}) {
    const std::optional<int> number = whole_number(text);
    kinds.push_back(number ? kind_of(*number) : "no number");  // *number is what the optional holds
  }
  checks.equal("6 kinds", kinds, {"negative", "zero", "one", "more", "more", "no number", "no number"});

  std::vector<std::string> lengths;  // 7. for
  const std::vector<std::string> words = {"cat", "window", "defenestrate"};
  for (const std::string& each : words) lengths.push_back(fmt::format("{} {}", each, each.size()));
  checks.equal("7 words and lengths", lengths, {"cat 3", "window 6", "defenestrate 12"});

  const std::vector<long> fibonacci = series::fibonacci_below(below);  // 8. a function
  cookbook::println("Fibonacci numbers below {}: {}", below, fmt::join(fibonacci, " "));
  checks.equal("8 numbers below 2 and below 1", std::vector{series::fibonacci_below(2), series::fibonacci_below(1)},
               {{1, 1}, {}});

  using std::log;  // 9. names from libraries: this one alone, as `from math import log`
  checks.within("9 sin(1) + log(2)", std::sin(1.0) + log(2.0), 1.5346181653678418 - 1e-15, 1.5346181653678418 + 1e-15);

  const Complex x(3.0, -4.5);  // 10. a class
  Complex y = x;               // a copy; in Python both names would mean the same object
  y.r = 6.0;
  checks.equal("10 x and y", std::vector{x.r, x.i, y.r, y.i}, {3, -4.5, 6, -4.5});
  checks.equal("10 modulus of y", y.modulus(), 7.5);
  return checks.exit_code();
}

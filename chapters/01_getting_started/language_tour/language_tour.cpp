// A tour of the language
//
// Ten small steps that every other recipe takes for granted: numbers, complex numbers, text, a list of mixed things,
// a loop, a choice, another loop, a function, names from elsewhere, a class. Each is a few lines long, and each checks
// what it found. Look for what differs from Python: types are fixed at compile time, copies are copies, and an error
// at run time is an exception or an empty result that one has to look at.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/language_tour/language_tour.cpp common/cookbook/*.cpp -lfmt -o language_tour
// Run:     language_tour [--number N] [--below N]

#include <charconv>
#include <cmath>
#include <complex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "fibonacci.hpp"

namespace {

using cookbook::Checks;

void integers(Checks& checks) {
  const int width = 20;
  const auto height = 5 * 9;  // auto takes the type of the value, here int; it cannot become another one later
  checks.equal("1 height", height, 45);
  checks.equal("1 width times height", width * height, 900);
}

void complex_numbers(Checks& checks) {
  using namespace std::complex_literals;
  const std::complex<double> a = 1.5 + 0.5i;
  checks.equal("2 real part", a.real(), 1.5);
  checks.equal("2 imaginary part", a.imag(), 0.5);
  checks.within("2 modulus of 1.5 + 0.5i", std::abs(a), 1.5811388300841898 - 1e-15, 1.5811388300841898 + 1e-15);
  checks.equal("2 modulus of 3 + 4i", std::abs(3.0 + 4.0i), 5.0);
}

void strings(Checks& checks) {
  const std::string word = std::string("Help") + "A";
  checks.equal("3 word", word, "HelpA");
  checks.equal("3 its length", word.size(), 5);
  checks.equal("3 element 4", word[4], 'A');
  checks.equal("3 two characters from 0 on", word.substr(0, 2), "He");
  checks.equal("3 last element", word.back(), 'A');
  bool refused = false;
  try {
    (void)word.at(5);  // word[5] checks nothing
  } catch (const std::out_of_range&) {
    refused = true;
  }
  checks.equal("3 element 5 is refused", refused, true);
}

/// One element of a list of mixed things: a text or a number, and it knows which.
using Thing = std::variant<std::string, int>;

std::string shown(const Thing& thing) {
  return std::visit([](const auto& value) { return fmt::format("{}", value); }, thing);
}

void lists(Checks& checks) {
  const std::vector<Thing> list = {"spam", "eggs", 100, 1234};
  checks.equal("4 element 0", shown(list[0]), "spam");
  checks.equal("4 element 3", shown(list[3]), "1234");
  checks.equal("4 last but one", shown(list.end()[-2]), "100");
  std::vector<Thing> slice(list.begin() + 1, list.end() - 1);
  checks.equal("4 slice", shown(slice[0]) + ", " + shown(slice[1]), "eggs, 100");
  checks.equal("4 length", list.size(), 4);
  slice[0] = "ham";
  checks.equal("4 element 1 after a change of the slice", shown(list[1]), "eggs");
}

void while_loop(Checks& checks) {
  std::vector<int> numbers;
  int a = 0, b = 1;
  while (b < 10) {
    numbers.push_back(b);
    a = std::exchange(b, a + b);  // sets b, and gives back what it was
  }
  checks.equal("5 Fibonacci below 10", numbers, {1, 1, 2, 3, 5, 8});

  // One assignment after the other is something else: b adds the a that has just been overwritten.
  std::vector<int> wrong;
  a = 0, b = 1;
  while (b < 10) {
    wrong.push_back(b);
    a = b;
    b = a + b;
  }
  checks.equal("5 the same with a = b; b = a + b", wrong, {1, 2, 4, 8});
}

std::string kind_of(int number) {
  if (number < 0) return "negative";
  if (number == 0) return "zero";
  if (number == 1) return "one";
  return "More";
}

/// `text` as a whole number, or nothing if it is none: 7x is refused as well as abc.
std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void branches(Checks& checks) {
  std::vector<std::string> kinds;
  for (const std::string_view text : {"-5", "0", "1", "2", "1000", "abc", "7x"}) {
    const std::optional<int> number = whole_number(text);
    kinds.push_back(number ? kind_of(*number) : "refused");
  }
  checks.equal("6 kinds of -5, 0, 1, 2, 1000, abc, 7x", kinds,
               {"negative", "zero", "one", "More", "More", "refused", "refused"});
}

void for_loop(Checks& checks) {
  const std::vector<std::string> words = {"cat", "window", "defenestrate"};
  std::vector<std::string> lines;
  std::size_t sum = 0;
  for (const std::string& word : words) {  // without the & each turn would copy a word
    lines.push_back(fmt::format("{} {}", word, word.size()));
    sum += word.size();
  }
  checks.equal("7 words and lengths", lines, {"cat 3", "window 6", "defenestrate 12"});
  checks.equal("7 sum of the lengths", sum, 21);
}

long sum_of(const std::vector<long>& numbers) {
  long sum = 0;
  for (const long number : numbers) sum += number;
  return sum;
}

void functions(Checks& checks) {
  const std::vector<long> numbers = series::fibonacci_below(2000);
  checks.equal("8 Fibonacci numbers below 2000", numbers.size(), 17);
  checks.equal("8 the last", numbers.back(), 1597);
  checks.equal("8 their sum", sum_of(numbers), 4180);
  checks.equal("8 the next", numbers.end()[-2] + numbers.back(), 2584);
  checks.equal("8 numbers below 1", series::fibonacci_below(1).size(), 0);
  checks.equal("8 numbers below 2", series::fibonacci_below(2), {1, 1});
}

void names_from_elsewhere(Checks& checks) {
  using std::log;  // this one name, in this block; `using namespace std` would bring all of them
  checks.within("9 sin(1)", std::sin(1.0), 0.8414709848078965 - 1e-15, 0.8414709848078965 + 1e-15);
  checks.equal("9 log(1)", log(1.0), 0.0);
}

class Complex {
 public:
  Complex(double real, double imaginary) : r(real), i(imaginary) {}

  double modulus() const { return std::sqrt(r * r + i * i); }

  double r;
  double i;
};

void classes(Checks& checks) {
  const Complex x(3.0, -4.5);
  checks.equal("10 x", fmt::format("({:.1f}, {:.1f})", x.r, x.i), "(3.0, -4.5)");
  checks.within("10 its modulus", x.modulus(), 5.408326913195984 - 1e-15, 5.408326913195984 + 1e-15);
  Complex y = x;  // a copy; in Python both names would mean one object
  y.r = 8.0;
  checks.equal("10 x.r and y.r after y = x and y.r = 8", std::vector{x.r, y.r}, {3.0, 8.0});
}

}  // namespace

int main(int argc, char** argv) {
  int number = 7;
  long below = 100;
  cookbook::Options options("Tour the language in ten small steps");
  options.add("number", number, "a number to name the kind of", -1'000'000'000, 1'000'000'000);
  options.add("below", below, "print the Fibonacci numbers below this", 1, 4'000'000'000'000'000'000);
  options.parse(argc, argv);

  cookbook::println("{} is {}", number, kind_of(number));
  cookbook::println("below {}: {}", below, fmt::join(series::fibonacci_below(below), " "));

  Checks checks;
  integers(checks);
  complex_numbers(checks);
  strings(checks);
  lists(checks);
  while_loop(checks);
  branches(checks);
  for_loop(checks);
  functions(checks);
  names_from_elsewhere(checks);
  classes(checks);
  return checks.exit_code();
}

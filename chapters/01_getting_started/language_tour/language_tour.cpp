// A tour of the language
//
// Ten small steps for those who come from Python: each is some Python, C++ that is close to it, and what the two give.
// In the first six the C++ means something else; in the last four both give the same. What Python gives is written into
// this program; what C++ gives comes from a short function per step.
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
  const auto height = 5 * 9;  // auto: the compiler finds the type, here int, and it cannot change later
  return fmt::format("{}", height / 2);
}

// 2. Strings: the second argument of substr is a length.
std::string strings() {
  const std::string word = std::string("Help") + "A";
  return word.substr(1, 3);
}

/// The number that `text` is; empty if it is not a whole number, or does not fit into an int.
std::optional<int> whole_number(const std::string& text) {
  const char* const text_end = text.data() + text.size();
  int number = 0;
  // from_chars has two results: where it has stopped, and an error, which equals errc() if there was none.
  const auto [end, error] = std::from_chars(text.data(), text_end, number);
  if (error != std::errc() || end != text_end) return std::nullopt;
  return number;
}

// 3. Numbers from text: std::stoi reads the number at the beginning, and ignores the rest.
std::string numbers_from_text() { return fmt::format("{}", std::stoi("7x")); }

// 4. A class: y is a new object.
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

// 5. A function: its parameter is a new vector.
void append(std::vector<int> numbers) { numbers.push_back(4); }
std::string functions() {
  const std::vector<int> numbers = {1, 2, 3};
  append(numbers);
  return fmt::format("{}", fmt::join(numbers, " "));
}

// 6. for: each word is a reference to an element, so += changes the element.
std::string for_loop() {
  std::vector<std::string> words = {"cat", "window"};
  for (std::string& word : words) word += "s";
  return fmt::format("{}", fmt::join(words, " "));
}

// 7. Lists: the type of a list says which types its elements may have. A slice is a copy.
std::string lists() {
  using Thing = std::variant<std::string, int>;  // a string or an int, and it knows which
  const std::vector<Thing> list = {"spam", "eggs", 100, 1234};
  std::vector<Thing> part(list.begin() + 1, list.end() - 1);  // copies of "eggs" and 100
  part[0] = "ham";
  return fmt::format("{}, {}", std::get<std::string>(list[1]), std::get<std::string>(part[0]));
}

// 8. if: which return is reached depends on the number.
std::string sign_of(int number) {
  if (number < 0) return "-";
  if (number == 0) return "0";
  return "+";
}

std::string branches() {
  std::vector<std::string> signs;
  for (const char* text : {"-5", "0", "7", "7x", ""}) {
    const std::optional<int> number = whole_number(text);
    signs.push_back(number ? sign_of(*number) : "error");  // *number is what the optional holds
  }
  return fmt::format("{}", fmt::join(signs, " "));
}

// 9. while: fibonacci_below is in a header of our own, fibonacci.hpp.
std::string while_loop() { return fmt::format("{}", fmt::join(series::fibonacci_below(10), " ")); }

// 10. Names from libraries: std::abs with its namespace, log without, as after `from math import log`.
std::string names() {
  using namespace std::complex_literals;  // for the i at the end of 0.5i
  using std::log;
  return fmt::format("{:.4f}, {:.4f}", std::abs(1.5 + 0.5i), log(2.0));
}

struct Step {
  std::string python, python_gives, cpp, cpp_gives;
};

}  // namespace

int main(int argc, char** argv) {
  bool differing = false;
  cookbook::Options options("Tour the language in ten small steps, and see where they differ from Python");
  options.add_flag("differing", differing, "print only the steps in which C++ differs from Python");
  options.parse(argc, argv);

  const std::vector<Step> steps = {
      {"45 / 2", "22.5", "45 / 2", integers()},
      {"\"HelpA\"[1:3]", "el", "word.substr(1, 3)", strings()},
      {"int(\"7x\")", "ValueError", "std::stoi(\"7x\")", numbers_from_text()},
      {"y = x; y.r = 6.0; print(x.r, y.r)", "6.0, 6.0", "Complex y = x; y.r = 6.0;", classes()},
      {"append(numbers)", "1 2 3 4", "append(numbers)", functions()},
      {"for word in words: word += \"s\"", "cat window", "for (std::string& word : words)", for_loop()},
      {"part = list[1:-1]; part[0] = \"ham\"", "eggs, ham", "part(begin() + 1, end() - 1)", lists()},
      {"-5 0 7 7x \"\": sign_of(int(text))", "- 0 + error error", "sign_of(*whole_number(text))", branches()},
      {"a, b = b, a + b", "1 1 2 3 5 8", "a = std::exchange(b, a + b);", while_loop()},
      {"abs(1.5 + 0.5j), log(2)", "1.5811, 0.6931", "std::abs(1.5 + 0.5i), log(2.0)", names()},
  };
  cookbook::println("   {:<36}{:<33}{:<19}{}", "Python", "C++", "Python gives", "C++ gives");
  std::vector<int> different;
  int number = 0;
  for (const auto& [python, python_gives, cpp, cpp_gives] : steps) {  // & makes references: without it, copies
    ++number;
    const bool same = python_gives == cpp_gives;
    if (!same) different.push_back(number);
    if (!same || !differing) {
      cookbook::println("{:>2} {:<36}{:<33}{:<19}{}", number, python, cpp, python_gives, cpp_gives);
    }
  }

  cookbook::Checks checks;
  checks.equal("steps that differ", different, {1, 2, 3, 4, 5, 6});
  return checks.exit_code();
}

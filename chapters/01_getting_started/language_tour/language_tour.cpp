// A tour of the language
//
// Small steps for those who come from Python: each is some Python, C++ that is close to it, and what the two give. In
// the first ten the C++ means something else; in the last three both give the same. What Python gives is written into
// this program; what C++ gives comes from a short function per step.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/language_tour/language_tour.cpp common/cookbook/*.cpp -lfmt -o language_tour
// Run:     language_tour

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "fibonacci.hpp"

namespace {

// 1. Integers: 45 and 2 are both of type int, and so is 45 / 2.
std::string integers() { return fmt::format("{}", 45 / 2); }

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

// 5. A reference: y is a second name of x, and always will be, so y = z copies z into x.
std::string references() {
  Complex x(3.0, -4.5);
  const Complex z(1.0, 0.0);
  Complex& y = x;
  y = z;
  return fmt::format("{:.1f}", x.r);
}

// 6. A function: its parameter is a new vector.
void append(std::vector<int> n) { n.push_back(4); }
std::string functions() {
  const std::vector<int> numbers = {1, 2, 3};
  append(numbers);
  return fmt::format("{}", fmt::join(numbers, " "));
}

// 7. for: each word is a reference to an element, so += changes the element.
std::string for_loop() {
  std::vector<std::string> words = {"cat", "window"};
  for (std::string& word : words) word += "s";
  return fmt::format("{}", fmt::join(words, " "));
}

// 8. for with auto: each row is a copy of an element.
std::string for_auto() {
  std::vector<std::vector<int>> rows = {{1}, {2}};
  for (auto row : rows) row.push_back(0);  // auto stands for std::vector<int> here
  return fmt::format("{}", rows);
}

// 9. A dictionary: [] makes the element if there is none.
std::string dictionary() {
  std::map<std::string, int> count;
  const int n = count["no"];
  return fmt::format("{}, {}", n, count.size());
}

// 10. A function without a name (a lambda): [n] gives it a copy of n.
std::string lambda() {
  int n = 1;
  const auto f = [n] { return n; };
  n = 2;
  return fmt::format("{}", f());
}

// 11. The same with a reference to n.
std::string lambda_with_reference() {
  int n = 1;
  const auto f = [&n] { return n; };
  n = 2;
  return fmt::format("{}", f());
}

// 12. while: fibonacci_below is in a header of our own, fibonacci.hpp.
std::string while_loop() { return fmt::format("{}", fmt::join(series::fibonacci_below(10), " ")); }

// 13. if: which return is reached depends on the number.
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

struct Step {
  std::string python, python_gives, cpp, cpp_gives;
};

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options("Tour the language in small steps, and see where they differ from Python").parse(argc, argv);

  const std::vector<Step> steps = {
      {"45 / 2", "22.5", "45 / 2", integers()},
      {"\"HelpA\"[1:3]", "el", "word.substr(1, 3)", strings()},
      {"int(\"7x\")", "ValueError", "std::stoi(\"7x\")", numbers_from_text()},
      {"y = x; y.r = 6.0; x.r, y.r", "6.0, 6.0", "Complex y = x; y.r = 6.0; x.r, y.r", classes()},
      {"y = x; y = z; x.r", "3.0", "Complex& y = x; y = z; x.r", references()},
      {"def append(n): n += [4]", "1 2 3 4", "append(vector<int> n) { n.push_back(4); }", functions()},
      {"for word in words: word += \"s\"", "cat window", "for (string& word : words) word += \"s\";", for_loop()},
      {"for row in rows: row.append(0)", "[[1, 0], [2, 0]]", "for (auto row : rows) row.push_back(0);", for_auto()},
      {"count[\"no\"], len(count)", "KeyError", "int n = count[\"no\"]; n, count.size()", dictionary()},
      {"f = lambda: n; n = 2; f()", "2", "auto f = [n] { return n; }; n = 2; f()", lambda()},
      {"f = lambda: n; n = 2; f()", "2", "auto f = [&n] { return n; }; n = 2; f()", lambda_with_reference()},
      {"a, b = b, a + b", "1 1 2 3 5 8", "long sum = a + b; a = b; b = sum;", while_loop()},
      {"sign_of(int(t)) for t in -5 0 7 7x \"\"", "- 0 + error error", "number ? sign_of(*number) : \"error\"",
       branches()},
  };
  cookbook::println("   {:<38}{:<43}{:<19}{}", "Python", "C++", "Python gives", "C++ gives");
  std::vector<int> different;
  int number = 0;
  for (const auto& [python, python_gives, cpp, cpp_gives] : steps) {  // & makes references: without it, copies
    const bool differs = python_gives != cpp_gives;
    cookbook::println("{:>2} {:<38}{:<43}{:<19}{}", ++number, python, cpp, python_gives,
                      differs ? fmt::format("{:<14}differs", cpp_gives) : cpp_gives);
    if (differs) different.push_back(number);
  }

  cookbook::Checks checks;
  checks.equal("steps that differ", different, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  return checks.exit_code();
}

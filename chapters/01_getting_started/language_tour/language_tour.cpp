// A tour of the language
//
// Small steps for those who come from Python: each is some Python, C++ that is close to it, and what the two give. In
// the first nine the C++ means something else; in the last four both give the same. What Python gives is written into
// this program; what C++ gives comes from a short function per step.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/01_getting_started/language_tour/language_tour.cpp common/cookbook/*.cpp -lfmt -o language_tour
// Run:     language_tour

#include <charconv>
#include <cmath>
#include <complex>
#include <map>
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
  const auto height = 5 * 9;  // auto: of the type of 5 * 9, which is int, and cannot change later
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

// 7. for with auto: each row is a copy of an element.
std::string for_auto() {
  std::vector<std::vector<int>> rows = {{1}, {2}};
  for (auto row : rows) row.push_back(0);  // auto stands for std::vector<int> here
  return fmt::format("{}", rows);
}

// 8. A dictionary: [] makes the element if there is none.
std::string dictionary() {
  std::map<std::string, int> count;
  const int no = count["no"];
  return fmt::format("{}, {}", no, count.size());
}

// 9. A function without a name (a lambda): [n] gives it a copy of n.
std::string lambda() {
  int n = 1;
  const auto f = [n] { return n; };
  n = 2;
  return fmt::format("{}", f());
}

// 10. while: fibonacci_below is in a header of our own, fibonacci.hpp.
std::string while_loop() { return fmt::format("{}", fmt::join(series::fibonacci_below(10), " ")); }

// 11. if: which return is reached depends on the number.
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

// 12. A list of texts and numbers: each element knows which it is. A part of it is a new list, as in Python.
std::string lists() {
  using Thing = std::variant<std::string, int>;  // a string or an int
  const std::vector<Thing> list = {"spam", "eggs", 100, 1234};
  std::vector<Thing> part(list.begin() + 1, list.end() - 1);  // copies of "eggs" and 100
  part[0] = "ham";
  return fmt::format("{}, {}", std::get<std::string>(list[1]), std::get<std::string>(part[0]));
}

// 13. Complex numbers and functions, from headers. Their names stand in std.
std::string names() {
  using namespace std::complex_literals;  // for the i at the end of 0.5i
  return fmt::format("{:.4f}, {:.4f}", std::abs(1.5 + 0.5i), std::log(2.0));
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
      {"def append(numbers): numbers += [4]", "1 2 3 4", "void append(vector<int> numbers)", functions()},
      {"for word in words: word += \"s\"", "cat window", "for (string& word : words) word += \"s\";", for_loop()},
      {"for row in rows: row.append(0)", "[[1, 0], [2, 0]]", "for (auto row : rows) row.push_back(0);", for_auto()},
      {"count[\"no\"], len(count)", "KeyError", "count[\"no\"], count.size()", dictionary()},
      {"f = lambda: n; n = 2; f()", "2", "auto f = [n] { return n; }; n = 2; f()", lambda()},
      {"a, b = b, a + b", "1 1 2 3 5 8", "a = std::exchange(b, a + b);", while_loop()},
      {"-5 0 7 7x \"\": sign_of(int(text))", "- 0 + error error", "number ? sign_of(*number) : \"error\"", branches()},
      {"p = list[1:-1]; p[0] = \"ham\"", "eggs, ham", "p(list.begin() + 1, list.end() - 1);", lists()},
      {"abs(1.5 + 0.5j), math.log(2)", "1.5811, 0.6931", "std::abs(1.5 + 0.5i), std::log(2.0)", names()},
  };
  cookbook::println("   {:<37}{:<41}{:<19}{}", "Python", "C++", "Python gives", "C++ gives");
  std::vector<int> different;
  int number = 0;
  for (const auto& [python, python_gives, cpp, cpp_gives] : steps) {  // & makes references: without it, copies
    cookbook::println("{:>2} {:<37}{:<41}{:<19}{}", ++number, python, cpp, python_gives, cpp_gives);
    if (python_gives != cpp_gives) different.push_back(number);
  }

  cookbook::Checks checks;
  checks.equal("steps that differ", different, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  return checks.exit_code();
}

/// The command line of a recipe: declared, read and checked.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cookbook {

/// Declares a recipe's options and reads them from the command line.
///
/// A wrong option or value gives one line on standard error, which names the option, the value and what is allowed,
/// and ends the program with exit code 2. Every recipe also has --help (exit code 0) and --json (print.hpp).
class Options {
 public:
  /// `summary` is the recipe in one sentence; --help prints it.
  explicit Options(std::string_view summary);

  /// Declares `--name N`, a whole number from `lowest` to `highest`; `value` holds the default until parse() sets it.
  template <std::integral Number>
  void add(std::string_view name, Number& value, std::string_view meaning, std::type_identity_t<Number> lowest,
           std::type_identity_t<Number> highest) {
    add_integer(name, static_cast<long long>(value), meaning, static_cast<long long>(lowest),
                static_cast<long long>(highest), [&value](long long read) { value = static_cast<Number>(read); });
  }

  /// Declares `--name X`, a finite number from `lowest` to `highest`.
  void add(std::string_view name, double& value, std::string_view meaning, double lowest, double highest);

  /// Declares `--name TEXT`; any text is allowed.
  void add(std::string_view name, std::string& value, std::string_view meaning);

  /// Declares `--name WORD`, one of `allowed`.
  void add_choice(std::string_view name, std::string& value, std::string_view meaning,
                  std::vector<std::string> allowed);

  /// Declares `--name`, which sets `value`.
  void add_flag(std::string_view name, bool& value, std::string_view meaning);

  /// Reads the command line. From here on an exception that nobody catches, such as the std::system_error of a thread
  /// that cannot be made, ends the program with one line on standard error and exit code 3.
  void parse(int argc, char** argv);

 private:
  void add_integer(std::string_view name, long long initial, std::string_view meaning, long long lowest,
                   long long highest, std::function<void(long long)> set);

  void add_option(std::string_view name, std::string value, std::string meaning,
                  std::function<void(const std::string&)> set);
  [[noreturn]] void print_help() const;

  struct Option {
    std::string name;     ///< with its two hyphens
    std::string value;    ///< its kind and the default, as --help shows them: "N=10"; empty: a flag
    std::string meaning;  ///< with what is allowed
    std::function<void(const std::string&)> set;
  };
  std::string summary_;
  std::vector<Option> options_;
};

}  // namespace cookbook

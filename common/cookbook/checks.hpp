/// Checks that print a line each and add up to the exit code of a recipe.
#pragma once

#include "cookbook/print.hpp"

#include <fmt/ranges.h>

#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace cookbook {

/// Whether COOKBOOK_FAULT=1 is in the environment: then every check corrupts the value that it is given, and a recipe
/// whose exit code is still 0 has dropped a check. The fault test of every recipe relies on this.
bool fault_injection_enabled();

/// A value that differs from `value`: the next number, the other truth, a longer text, a changed first element.
template <typename Value>
Value corrupted(Value value) {
  if constexpr (std::same_as<Value, bool>) {
    return !value;
  } else if constexpr (std::floating_point<Value>) {
    return value == value ? value + 1 + value * value : Value(0);
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return value == std::numeric_limits<Value>::max() ? std::numeric_limits<Value>::min() : Value(value + 1);
  } else if constexpr (std::same_as<Value, std::string>) {
    return value + " (corrupted)";
  } else {
    if (std::empty(value)) {
      value.resize(1);
    } else {
      *std::begin(value) = corrupted(*std::begin(value));
    }
    return value;
  }
}

/// Collects the checks of one recipe. Each prints "ok    <what>: <value>", or "FAIL  <what>: <value>, expected ...";
/// under --json, a record. Use from one thread.
class Checks {
 public:
  /// Checks that `actual` equals `expected`: numbers, texts, or containers of them.
  template <typename Value>
  void equal(std::string_view what, Value actual, const std::type_identity_t<Value>& expected) {
    if constexpr (std::same_as<Value, const char*>) {
      equal(what, std::string(actual), expected);
    } else {
      if (fault_injection_enabled()) actual = corrupted(std::move(actual));
      note(what, actual == expected, fmt::format("{}", actual), fmt::format("{}", expected));
    }
  }

  /// Checks that lowest <= actual <= highest.
  template <typename Number>
  void within(std::string_view what, Number actual, std::type_identity_t<Number> lowest,
              std::type_identity_t<Number> highest) {
    if (fault_injection_enabled()) actual = outside(lowest, highest);
    note(what, lowest <= actual && actual <= highest, fmt::format("{}", actual),
         fmt::format("{} to {}", lowest, highest));
  }

  /// Checks that `holds` is true; for what no single value shows.
  void that(std::string_view what, bool holds) {
    if (fault_injection_enabled()) holds = false;
    note(what, holds, holds ? "yes" : "no", "yes");
  }

  /// Whether all checks so far hold. Speeds are shown only if they do.
  bool passed() const { return failed_ == 0 && checked_ > 0; }

  /// 0 if at least one check was made and all hold, else 1.
  [[nodiscard]] int exit_code() const { return passed() ? 0 : 1; }

 private:
  template <typename Number>
  static Number outside(Number lowest, Number highest) {
    if (highest < std::numeric_limits<Number>::max()) return highest + 1 + (highest > 0 ? highest / 2 : 0);
    return lowest - 1;
  }

  void note(std::string_view what, bool holds, std::string_view value, std::string_view expected);

  int checked_ = 0;
  int failed_ = 0;
};

}  // namespace cookbook

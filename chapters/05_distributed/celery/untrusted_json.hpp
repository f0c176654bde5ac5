/// Reading JSON that comes from outside: nothing is trusted to be there, or to have the right type.
#pragma once

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "celery/iso_time.hpp"

namespace celery {

namespace json = boost::json;

/// What was read is not what it should be.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Whether a JSON text has a whole number that does not fit into std::int64_t, or is -2^63. Beyond 64 bits, Boost.JSON
/// would make a rounded number of it.
inline bool has_huge_integer(std::string_view text) {
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_string = !in_string;
    if (text[i] == '\\') ++i;  // in a string: the next character is not the end
    if (in_string || text[i] < '0' || text[i] > '9') continue;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", i), text.size());
    const bool whole = end == text.size() || (text[end] != '.' && text[end] != 'e' && text[end] != 'E');
    if (whole && (end - i > 19 || (end - i == 19 && text.substr(i, 19) > "9223372036854775807"))) return true;
    i = std::min(text.find_first_not_of("0123456789.eE+-", i), text.size()) - 1;
  }
  return false;
}

/// Throws Malformed if `text` is no JSON, or has such a whole number.
inline json::value parse(const std::string& text) {
  json::error_code error;
  json::value value = json::parse(text, error);
  if (error) throw Malformed("the body is no JSON: " + error.message());
  if (has_huge_integer(text)) throw Malformed("a whole number does not fit into 64 bits");
  return value;
}

/// A member of an object; null if the object does not have it, or is none.
inline const json::value& member(const json::object& of, std::string_view name) {
  static const json::value none;
  const json::value* found = of.if_contains(name);
  return found ? *found : none;
}
inline const json::value& member(const json::value& of, std::string_view name) {
  static const json::object empty;
  return member(of.is_object() ? of.get_object() : empty, name);
}

/// A text of 1 to 255 bytes. `what` is for the error.
inline std::string read_name(const json::value& value, std::string_view what) {
  if (!value.is_string() || value.get_string().empty() || value.get_string().size() > 255) {
    throw Malformed(fmt::format("'{}' is no name", what));
  }
  return std::string(value.get_string());
}

/// A number of seconds; nothing for null.
inline std::optional<double> read_seconds(const json::value& value, std::string_view what) {
  if (value.is_null()) return {};
  if (!value.is_number() || !(value.to_number<double>() > 0 && value.to_number<double>() < 1e9)) {
    throw Malformed(fmt::format("'{}' is no time", what));
  }
  return value.to_number<double>();
}

/// A time in ISO 8601; nothing for null.
inline std::optional<Time> read_time(const json::value& value, std::string_view what) {
  if (value.is_null()) return {};
  const auto found = value.is_string() ? from_iso(std::string(value.get_string())) : std::nullopt;
  if (!found) throw Malformed(fmt::format("'{}' is no time", what));
  return found;
}

inline json::value or_null(const std::optional<Time>& time) { return time ? json::value(to_iso(*time)) : nullptr; }
inline json::value or_null(const std::optional<double>& number) { return number ? json::value(*number) : nullptr; }

/// A value for people to read: JSON, but 0.5 where Boost.JSON writes 5E-1.
inline std::string shown(const json::value& value) {
  return value.is_double() ? fmt::format("{}", value.get_double()) : json::serialize(value);
}

/// `text` as one line: characters from outside that could forge a second line of a log are masked.
inline std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

}  // namespace celery

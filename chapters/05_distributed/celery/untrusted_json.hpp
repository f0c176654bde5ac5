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

/// How many bytes the character has with which `text` begins, in UTF-8; 0 if these bytes are no character.
inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0);
  if (first < 0x80) return std::min<std::size_t>(text.size(), 1);
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  for (std::size_t i = 1; i < length; ++i) {
    unsigned lowest = 0x80, highest = 0xBF;
    if (i == 1 && first == 0xE0) lowest = 0xA0;   // else it would have a shorter form
    if (i == 1 && first == 0xED) highest = 0x9F;  // half a pair of UTF-16
    if (i == 1 && first == 0xF0) lowest = 0x90;
    if (i == 1 && first == 0xF4) highest = 0x8F;  // beyond Unicode
    if (byte(i) < lowest || byte(i) > highest) return 0;
  }
  return length;
}

inline bool is_utf8(std::string_view text) {
  while (const std::size_t length = utf8_length(text)) text.remove_prefix(length);
  return text.empty();
}

/// `text` with a question mark for each byte that belongs to no character in UTF-8, and with at most `max_bytes`.
inline std::string as_utf8(std::string_view text, std::size_t max_bytes = std::string::npos) {
  text = text.substr(0, max_bytes);
  std::string valid;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    valid += length == 0 ? "?" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return valid;
}

/// Arrays and objects inside of one another that a result may have. A reader of JSON needs a limit, or a text such as
/// [[[[... would fill its stack; that of Boost.JSON is 32, of which the message around a result takes up to two.
inline constexpr int max_depth = 30;

/// What a value has that JSON cannot express or a reader would refuse; empty if there is nothing. Boost.JSON writes
/// every value, an infinite number as Infinity, which is no JSON.
inline std::string_view fault_of(const json::value& value, int depth = 0) {
  if (value.is_double() && !std::isfinite(value.get_double())) return "a number that is infinite or undefined";
  if (value.is_string() && !is_utf8(value.get_string())) return "a text that is no UTF-8";
  if (value.is_structured() && depth == max_depth) return "more than 30 levels";
  if (const json::array* array = value.if_array()) {
    for (const json::value& element : *array) {
      if (const auto fault = fault_of(element, depth + 1); !fault.empty()) return fault;
    }
  } else if (const json::object* object = value.if_object()) {
    for (const auto& [name, element] : *object) {
      if (!is_utf8(name)) return "a text that is no UTF-8";
      if (const auto fault = fault_of(element, depth + 1); !fault.empty()) return fault;
    }
  }
  return {};
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

/// `text` as one line in UTF-8: characters from outside that could forge a second line of a log are masked.
inline std::string one_line(const std::string& from_outside) {
  std::string text = as_utf8(from_outside);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

}  // namespace celery

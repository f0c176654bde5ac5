/// Printing whole lines: one line, one write, so that threads and processes do not tear each other's lines.
#pragma once

#ifdef __NVCC__
// fmt 9 takes nvcc for a compiler without constexpr functions, and then does not compile as C++20. (nvcc defines this
// for .cpp files too, and __CUDACC__ for .cu files alone.)
#define FMT_USE_CONSTEXPR 1
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"  // GCC 12 warns at -O3 of an overflow in fmt that cannot happen
#endif
#include <fmt/format.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <string>
#include <string_view>
#include <utility>

namespace cookbook {

/// Writes `line` and a line feed to standard output by one write call. Says nothing under --json, where standard
/// output carries records alone. Ends the program with exit code 3 if standard output cannot be written; a reader that
/// has closed its end of a pipe ends it by SIGPIPE, as other programs.
void print_line(std::string_view line);

/// Formats as std::println of C++23 does, and writes the line as print_line() does.
template <typename... Values>
void println(fmt::format_string<Values...> format, Values&&... values) {
  print_line(fmt::format(format, std::forward<Values>(values)...));
}

/// Whether --json was given: then a script reads standard output, one JSON record a line.
bool json_wanted();

/// Turns --json on or off; Options::parse() calls it.
void want_json(bool wanted);

/// Writes one JSON record, a line, as print_line() does; says nothing without --json.
void print_record(std::string_view record);

/// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

/// `value` as a JSON number; null for infinity and NaN, which JSON does not have.
std::string json_number(double value);

/// The name under which this program was started, without its folder.
std::string_view program_name();

/// Prints "<program>: <message>" to standard error, as one line by one write.
void print_error(std::string_view message);

/// Complains that the system refused `what`, naming the value of errno, and ends the program with exit code 3.
[[noreturn]] void exit_with_errno(std::string_view what);

}  // namespace cookbook

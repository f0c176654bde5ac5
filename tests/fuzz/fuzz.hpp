/// What the programs of this folder share. Each is a function for libFuzzer, which calls it with input after input,
/// looks which of them reach code that none has reached before, and goes on from these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

/// Gives an input to the parser, and ends the program if it does not do what it promises.
void one_input(std::string_view input);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  one_input({reinterpret_cast<const char*>(data), size});
  return 0;
}

/// libFuzzer keeps the input of a program that is aborted.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

/// Cuts off the first line, and returns it without its end.
inline std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() + (line.size() < text.size()));
  return line;
}

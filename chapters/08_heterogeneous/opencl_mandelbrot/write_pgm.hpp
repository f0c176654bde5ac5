/// Writing a picture in shades of grey as a PGM file: three lines of text, and then a byte per pixel.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "cookbook/print.hpp"

/// Writes `values`, row by row: the value `black` as black, and others from dark to light. Ends the program with exit
/// code 3 if the file cannot be written.
inline void write_pgm(const std::string& name, const std::vector<unsigned char>& values, int columns, int black) {
  std::ofstream file(name, std::ios::binary);
  file << "P5\n" << columns << ' ' << values.size() / static_cast<std::size_t>(columns) << "\n255\n";
  for (const unsigned char value : values) {
    file.put(static_cast<char>(value == black ? 0 : 55 + 200 * value / black));
  }
  file.close();
  if (!file) cookbook::exit_with_errno(name);
}

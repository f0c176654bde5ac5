/// Writing a picture in shades of grey.
#pragma once

#include <png.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "cookbook/print.hpp"

/// Writes `shades`, row by row, 0 for black and 255 for white, as a PNG. If the file cannot be written, the program
/// ends with exit code 3 and libpng's reason.
inline void write_png(const std::string& file, const std::vector<unsigned char>& shades, int columns) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(columns);
  image.height = static_cast<png_uint_32>(shades.size()) / image.width;
  image.format = PNG_FORMAT_GRAY;
  if (png_image_write_to_file(&image, file.c_str(), 0, shades.data(), 0, nullptr)) return;
  cookbook::print_error(fmt::format("{}: {}", file, image.message));
  std::exit(3);
}

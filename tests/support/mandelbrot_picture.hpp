/// What is known about the picture of the Mandelbrot set with 1536 x 1024 pixels and 20 steps, which two chapters draw.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace test_support {

/// Checks the histogram, a hash of all pixels in their order (FNV-1a), and single points. `pixel(column, row)` returns
/// a value, an unsigned char.
template <typename Pixel>
void expect_the_known_picture(Pixel pixel) {
  std::array<int, 21> pixels = {};
  std::uint64_t hash = 0xcbf29ce484222325;
  for (int row = 0; row < 1024; ++row) {
    for (int column = 0; column < 1536; ++column) {
      const unsigned char value = pixel(column, row);
      ++pixels.at(value);  // throws if a value is above 20
      hash = (hash ^ value) * 0x100000001b3;
    }
  }
  EXPECT_EQ(pixels,
            (std::array<int, 21>{46031, 116761, 384643, 189521, 115978, 67417, 48244, 32294, 24969, 18340, 15280,
                                 11521, 10065,  8005,   7147,   5904,   5226,  4295,  4146,  3417,  453660}));
  EXPECT_EQ(hash, 0xd901fd1fdc78e76c);

  EXPECT_EQ(pixel(0, 0), 0);
  EXPECT_EQ(pixel(1535, 0), 1);
  EXPECT_EQ(pixel(0, 1023), 0);
  EXPECT_EQ(pixel(1535, 1023), 1);
  EXPECT_EQ(pixel(0, 512), 0);      // c = -2
  EXPECT_EQ(pixel(768, 512), 20);   // c = -0.5
  EXPECT_EQ(pixel(1024, 512), 20);  // c = 0
}

}  // namespace test_support

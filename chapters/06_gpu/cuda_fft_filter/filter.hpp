/// A picture, the filter of this recipe, and the filtered picture as the definition says.
#pragma once

#include <cmath>
#include <vector>

/// Rows of shades of grey, 0 for black and 255 for white.
struct Picture {
  int rows, columns;
  std::vector<float> shades = std::vector<float>(static_cast<std::size_t>(rows) * columns);

  float& at(int row, int column) { return shades[static_cast<std::size_t>(row) * columns + column]; }
  float at(int row, int column) const { return shades[static_cast<std::size_t>(row) * columns + column]; }
};

constexpr int filter_size = 5, reach = filter_size / 2;

/// The weights add up to 0, so that an area of one shade becomes 0. The last row is not the first one turned around, so
/// that a filter which is applied upside down, or mirrored, gives other pixels.
constexpr float filter[filter_size][filter_size] = {
    {-4, -1, 0, -1, -4}, {-1, 2, 3, 2, -1}, {0, 3, 3, 3, 0}, {-1, 2, 3, 2, -1}, {-4, -1, 0, -1, -3}};

/// Rings around the middle that become narrower to the outside.
inline Picture rings(int rows, int columns) {
  Picture picture{rows, columns};
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const float y = row - rows / 2.0F, x = column - columns / 2.0F;
      picture.at(row, column) =
          std::round(127.5F + 127.5F * std::cos((x * x + y * y) * 2 / static_cast<float>(columns)));
    }
  }
  return picture;
}

/// Each pixel becomes the sum of its neighbours, weighted by the filter (convolution). Outside of the picture is black;
/// or, if `circular`, the opposite edge follows.
inline Picture filtered_directly(const Picture& picture, bool circular = false) {
  Picture result{picture.rows, picture.columns};
  for (int row = 0; row < picture.rows; ++row) {
    for (int column = 0; column < picture.columns; ++column) {
      for (int j = 0; j < filter_size; ++j) {
        for (int i = 0; i < filter_size; ++i) {
          int y = row + reach - j, x = column + reach - i;
          if (circular) {
            y = (y + picture.rows) % picture.rows;
            x = (x + picture.columns) % picture.columns;
          }
          if (y < 0 || y >= picture.rows || x < 0 || x >= picture.columns) continue;
          result.at(row, column) += filter[j][i] * picture.at(y, x);
        }
      }
    }
  }
  return result;
}

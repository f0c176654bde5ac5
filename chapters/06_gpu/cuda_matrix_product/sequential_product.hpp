/// The product of two square matrices on the processor, and the two ways to round it.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

using Matrix = std::vector<float>;  ///< width x width, row after row: element (row, column) is [row * width + column]

/// The product is rounded to a float, then the sum is. The `volatile` variable has to be stored, so the compiler cannot
/// fuse the two operations.
inline float two_roundings(float a, float b, float sum) {
  const volatile float product = a * b;
  return product + sum;
}

/// Fused multiply-add: only the sum is rounded.
inline float one_rounding(float a, float b, float sum) { return std::fma(a, b, sum); }

/// Row times column for each element, in the order k = 0, 1, 2 ...; multiply_add(x, y, sum) returns x * y + sum.
template <typename MultiplyAdd>
Matrix sequential_product(const Matrix& a, const Matrix& b, int width, MultiplyAdd multiply_add) {
  Matrix c(a.size());
  for (int row = 0; row < width; ++row) {
    for (int column = 0; column < width; ++column) {
      float sum = 0;
      for (int k = 0; k < width; ++k) sum = multiply_add(a[row * width + k], b[k * width + column], sum);
      c[row * width + column] = sum;
    }
  }
  return c;
}

/// How many elements of two matrices of the same size are not equal; a NaN is equal to nothing.
inline int different(const Matrix& one, const Matrix& other) {
  int count = 0;
  for (std::size_t i = 0; i < one.size(); ++i) count += !(one[i] == other[i]);
  return count;
}

/// An operator that MPI does not have: the product of matrices of 2 x 2.
#pragma once

#include <array>
#include <cstdint>

#include "mpi_session.hpp"

namespace matrix_product {

/// Row by row. Unsigned numbers, which begin again at 0 where signed ones would overflow.
using Matrix = std::array<std::uint64_t, 4>;

inline Matrix product(const Matrix& a, const Matrix& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
}

/// What MPI calls to combine `*length` elements with as many others. `first` comes from lower ranks than `second`,
/// which takes the result.
inline void multiply(void* first, void* second, int* length, MPI_Datatype*) {
  const auto* left = static_cast<const Matrix*>(first);
  auto* right = static_cast<Matrix*>(second);
  for (int i = 0; i < *length; ++i) right[i] = product(left[i], right[i]);
}

/// The matrix as a type of MPI. It lives until the program ends.
inline MPI_Datatype type() {
  MPI_Datatype matrix;
  CHECK_MPI(MPI_Type_contiguous(4, MPI_UINT64_T, &matrix));
  CHECK_MPI(MPI_Type_commit(&matrix));
  return matrix;
}

/// [rank + 1, 1; 1, 0]. In the product of these, in the order of the ranks, the first column holds numerator and
/// denominator of the continued fraction 1 + 1 / (2 + 1 / (3 + ...)).
inline Matrix of_rank(int rank) { return {static_cast<std::uint64_t>(rank) + 1, 1, 1, 0}; }

/// The product over all ranks, by a loop.
inline Matrix of_all(int ranks) {
  Matrix all = of_rank(0);
  for (int i = 1; i < ranks; ++i) all = product(all, of_rank(i));
  return all;
}

}  // namespace matrix_product

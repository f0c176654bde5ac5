/// An operator that MPI does not have: putting digits one after another.
#pragma once

#include <cstdint>

#include "cookbook/mpi.hpp"

/// The digit that a rank gives to a reduction.
inline int number_of(int rank) {
  constexpr int numbers[] = {6, 3, 5, 0};
  return numbers[rank % 4];
}

constexpr int max_digits = 19;  ///< as many as fit, with their scale, into 64 bits

/// Decimal digits as a number, and 10 to the power of how many they are: {42, 100} or {7, 10}.
struct Digits {
  std::uint64_t number, scale;
  bool operator==(const Digits&) const = default;
};

inline Digits digits_of(int rank) { return {static_cast<std::uint64_t>(number_of(rank)), 10}; }

/// MPI calls this to combine `*length` elements of `lower`, from lower ranks if the order counts, with as many of
/// `upper`. The results replace those of `upper`.
inline void append(void* lower, void* upper, int* length, MPI_Datatype*) {
  const auto* left = static_cast<const Digits*>(lower);
  auto* right = static_cast<Digits*>(upper);
  for (int i = 0; i < *length; ++i) {
    right[i] = {left[i].number * right[i].scale + right[i].number, left[i].scale * right[i].scale};
  }
}

/// `Digits` as a type of MPI. The caller frees it by MPI_Type_free.
inline MPI_Datatype make_digits_type() {
  MPI_Datatype type;
  MPI_CHECK(MPI_Type_contiguous(2, MPI_UINT64_T, &type));
  MPI_CHECK(MPI_Type_commit(&type));
  return type;
}

/// How many rows and columns for so many ranks: two answers.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "mpi_session.hpp"

namespace grid_sizes {

using Size = std::array<int, 2>;  ///< rows, columns

/// As many rows as the square root, rounded down, and as many columns as there are ranks for. Some may be left over.
inline Size near_square(int ranks) {
  const int rows = static_cast<int>(std::sqrt(ranks));
  return {rows, ranks / rows};
}

/// MPI's own choice, which leaves none over.
inline Size by_library(int ranks) {
  Size size = {0, 0};  // 0: MPI may choose
  CHECK_MPI(MPI_Dims_create(ranks, 2, size.data()));
  return size;
}

/// Prints both for 1 to 16 ranks, on one rank.
inline void show(cookbook::Checks& checks) {
  std::vector<std::string> square, library;
  bool fits = true, all = true;
  for (int ranks = 1; ranks <= 16; ++ranks) {
    const auto [rows, columns] = near_square(ranks);
    square.push_back(fmt::format("{}x{}", rows, columns));
    fits = fits && rows * columns <= ranks;
    const auto [library_rows, library_columns] = by_library(ranks);
    library.push_back(fmt::format("{}x{}", library_rows, library_columns));
    all = all && library_rows * library_columns == ranks;
  }
  cookbook::println("1 to 16 ranks, by the square root: {}", fmt::join(square, " "));
  cookbook::println("             by MPI_Dims_create:   {}", fmt::join(library, " "));
  checks.that("the square root never takes more ranks than there are", fits);
  checks.that("MPI_Dims_create takes all of them", all);
}

}  // namespace grid_sizes

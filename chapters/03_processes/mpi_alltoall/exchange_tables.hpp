/// What mpi_alltoall prints: tables of the pieces that each rank sends and receives.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cookbook/mpi.hpp"

inline std::string text(const std::vector<int>& numbers) {
  return numbers.empty() ? "-" : fmt::format("{}", fmt::join(numbers, " "));
}

/// A column per piece: its numbers, or its length.
template <typename Pieces>
std::string columns(const Pieces& pieces, bool numbers, int width) {
  std::string line;
  for (int i = 0; i < static_cast<int>(pieces.lengths.size()); ++i) {
    const std::string cell = numbers ? text(pieces.piece(i)) : fmt::format("{}", pieces.lengths[i]);
    line += fmt::format("{}{:<{}}", i > 0 ? " | " : "", cell, width);
  }
  return line;
}

/// Prints two tables, the lengths and the numbers: what each rank sends, and beside it what it receives.
template <typename Pieces>
void print_tables(const Pieces& sent, const Pieces& received, const mpi::Environment& world) {
  std::size_t longest = 0;
  for (int i = 0; i < world.size(); ++i) longest = std::max(longest, text(sent.piece(i)).size());
  const int width = mpi::minmax_over_ranks(static_cast<int>(longest)).second;
  const int half = std::max(world.size() * (width + 3), 28);
  if (world.rank() == 0) {
    cookbook::println("         {:<{}}receives from rank 0 | 1 | ...", "sends to rank 0 | 1 | ...", half);
  }
  for (const bool numbers : {false, true}) {
    if (world.rank() == 0) {
      cookbook::print_line(numbers ? "numbers, by MPI_Alltoallv" : "lengths, by MPI_Alltoall");
    }
    const std::string line = fmt::format("rank {:<4}{:<{}}{}", world.rank(), columns(sent, numbers, width), half,
                                         columns(received, numbers, width));
    world.print_in_order(line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

// What the ranks say about their places, for grids of several shapes, beside plain arithmetic.

#include <string>
#include <vector>

#include "support/run.hpp"

namespace {

using test_support::run;
using test_support::run_ranks;

/// The neighbours of a place in a grid, computed without MPI.
std::string neighbours(int row, int column, int rows, int columns, bool torus) {
  const auto at = [&](int r, int c) -> std::string {
    if (torus) r = (r + rows) % rows, c = (c + columns) % columns;
    const bool inside = 0 <= r && r < rows && 0 <= c && c < columns;
    return inside ? std::to_string(r * columns + c) : "-";
  };
  return "up " + at(row - 1, column) + " down " + at(row + 1, column) + " left " + at(row, column - 1) + " right " +
         at(row, column + 1);
}

/// What `ranks` ranks have to print in a grid of `rows` rows.
std::vector<std::string> expected_lines(int ranks, int rows) {
  const int columns = ranks / rows;
  std::vector<std::string> lines;
  for (int rank = 0; rank < ranks; ++rank) {
    const int row = rank / columns, column = rank % columns;
    std::string line = "rank " + std::to_string(rank);
    if (rank >= rows * columns) {
      line += " has no place";
    } else {
      line += " at (" + std::to_string(row) + ", " + std::to_string(column) + "): mesh " +
              neighbours(row, column, rows, columns, false) + "; torus " + neighbours(row, column, rows, columns, true);
    }
    lines.push_back(line);
  }
  lines.push_back("all numbers one step to the right, mesh | torus:");
  const auto cell = [](const std::string& number) { return std::string(4 - number.size(), ' ') + number; };
  for (int row = 0; row < rows; ++row) {
    std::string mesh, torus;
    for (int column = 0; column < columns; ++column) {
      mesh += cell(column == 0 ? "-" : std::to_string(row * columns + column - 1));
      torus += cell(std::to_string(row * columns + (column - 1 + columns) % columns));
    }
    lines.push_back(mesh + " |" + torus);
  }
  const std::string sides = std::to_string(4 * rows * columns), places = std::to_string(rows * columns);
  lines.push_back("ok    sides on which the exchange in the mesh was right: " + sides);
  lines.push_back("ok    sides on which the exchange in the torus was right: " + sides);
  lines.push_back("ok    numbers that are back at their rank after " + std::to_string(columns) +
                  " steps to the right: " + places);
  return lines;
}

TEST(mpi_topology, places_and_neighbours_are_those_that_arithmetic_gives) {
  struct Case {
    int ranks, rows;
  };
  // The book's 2 x 2; 2 x 3; a rank left over; a single column.
  for (const auto& [ranks, rows] : {Case{4, 2}, Case{6, 2}, Case{7, 3}, Case{3, 3}}) {
    const auto result = run_ranks(ranks, "mpi_topology", {"--rows", std::to_string(rows)});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.out, expected_lines(ranks, rows)) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_topology, one_rank_is_its_own_neighbour_in_a_torus_without_mpirun_too) {
  const auto result = run("mpi_topology", {"--rows", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("rank 0 at (0, 0): mesh up - down - left - right -; torus up 0 down 0 left 0 right 0"))
      << result.text();
}

TEST(mpi_topology, more_rows_than_ranks_are_refused_in_one_line) {
  const auto result = run("mpi_topology", {"--rows", "2"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_topology: --rows 2: there are only 1 ranks"));
}

}  // namespace

// What the ranks say about their places, for grids of several shapes, beside plain arithmetic, and what they free.

#define main main_of_the_program  // it is run from inside, too
#include "03_processes/mpi_topology/mpi_topology.cpp"
#undef main

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "03_processes/again_as_ranks.hpp"
#include "support/run.hpp"

namespace {

int grids_made = 0, grids_freed = 0;  // by this rank

}  // namespace

// MPI lets a program put functions of its own in place of MPI's, which are then called PMPI_Comm_free and so on.
extern "C" int MPI_Cart_create(MPI_Comm comm, int count, const int* sizes, const int* wraps, int reorder,
                               MPI_Comm* grid) {
  const int error = PMPI_Cart_create(comm, count, sizes, wraps, reorder, grid);
  grids_made += *grid != MPI_COMM_NULL;
  EXPECT_EQ(reorder, 0) << "the program takes the numbers of MPI_COMM_WORLD for those in the grid";
  return error;
}
extern "C" int MPI_Cart_sub(MPI_Comm grid, const int* remains, MPI_Comm* part) {
  ++grids_made;
  return PMPI_Cart_sub(grid, remains, part);
}
extern "C" int MPI_Comm_free(MPI_Comm* comm) {
  ++grids_freed;
  return PMPI_Comm_free(comm);
}

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
  return "up " + at(row - 1, column) + "  down " + at(row + 1, column) + "  left " + at(row, column - 1) + "  right " +
         at(row, column + 1);
}

/// What `ranks` ranks have to print in a grid of `rows` rows.
std::vector<std::string> expected_lines(int ranks, int rows) {
  const int columns = ranks / rows;
  std::vector<std::string> lines = {"each rank sends its number to the right; what comes in:"};
  const auto cell = [](const std::string& text, int width) {
    return std::string(std::size_t(width) - text.size(), ' ') + text;
  };
  const auto tables = [&, width = std::max(6, 4 * columns)](const std::string& places, const std::string& mesh,
                                                            const std::string& torus) {
    return cell(places, width) + " |" + cell(mesh, width) + " |" + cell(torus, width);
  };
  lines.push_back(tables("ranks", "mesh", "torus"));
  for (int row = 0; row < rows; ++row) {
    std::string places, mesh, torus;
    for (int column = 0; column < columns; ++column) {
      places += cell(std::to_string(row * columns + column), 4);
      mesh += cell(column == 0 ? "-" : std::to_string(row * columns + column - 1), 4);
      torus += cell(std::to_string(row * columns + (column - 1 + columns) % columns), 4);
    }
    lines.push_back(tables(places, mesh, torus));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const int row = rank / columns, column = rank % columns;
    const std::string line = "rank " + std::to_string(rank);
    if (rank >= rows * columns) {
      lines.push_back(line + " has no place");
      continue;
    }
    const std::string place = line + " at (" + std::to_string(row) + ", " + std::to_string(column) + ")";
    lines.push_back(place + "  mesh   " + neighbours(row, column, rows, columns, false));
    lines.push_back(place + "  torus  " + neighbours(row, column, rows, columns, true));
  }
  lines.push_back("ok    numbers in mesh and torus that arithmetic gives as well: " +
                  std::to_string(2 * rows * columns));
  std::string sums;
  for (int row = 0; row < rows; ++row) {
    sums += (row > 0 ? ", " : "") + std::to_string(columns * (2 * row * columns + columns - 1) / 2);
  }
  lines.push_back("ok    sums of the ranks' numbers in each row: [" + sums + "]");
  return lines;
}

TEST(mpi_topology, places_and_neighbours_are_those_that_arithmetic_gives) {
  struct Case {
    int ranks, rows;
  };
  // The book's 2 x 2; 2 x 3; a rank left over; a single column.
  for (const auto& [ranks, rows] : {Case{4, 2}, Case{6, 2}, Case{7, 3}, Case{3, 3}}) {
    const auto result = run_ranks(ranks, "mpi_topology", {"--rows", std::to_string(rows), "--all"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.out, expected_lines(ranks, rows)) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_topology, one_rank_is_its_own_neighbour_in_a_torus_without_mpirun_too) {
  const auto result = run("mpi_topology", {"--rows", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("rank 0 at (0, 0)  mesh   up -  down -  left -  right -")) << result.text();
  EXPECT_TRUE(result.has_line("rank 0 at (0, 0)  torus  up 0  down 0  left 0  right 0")) << result.text();
}

TEST(mpi_topology, without_all_the_last_rank_says_where_it_is) {
  const auto result = run_ranks(6, "mpi_topology", {"--rows", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^rank 5 at .1, 2").size(), 2U) << result.text();
  EXPECT_EQ(result.lines_with("^rank ").size(), 2U) << result.text();
}

TEST(mpi_topology, more_rows_than_ranks_are_refused_in_one_line) {
  const auto result = run("mpi_topology", {"--rows", "2"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_topology: --rows 2: there are only 1 ranks"));
}

/// This test starts itself again as three ranks, of which two have places in a grid.
TEST(mpi_topology_communicators, are_freed_by_each_rank_that_has_a_place) {
  if (const auto result = again_as_ranks(3, "mpi_topology_test")) {
    EXPECT_EQ(result->lines_with("has no place$").size(), 1U) << result->text();
    return;
  }
  std::string arguments[] = {"mpi_topology", "--rows", "2"};
  char* pointers[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  EXPECT_EQ(main_of_the_program(3, pointers), 0);
  EXPECT_EQ(grids_freed, grids_made);
  EXPECT_THAT(grids_made, testing::AnyOf(0, 3));
}

}  // namespace

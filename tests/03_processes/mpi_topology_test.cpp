// Virtual topology: the program seen from outside. Catalogue: 3.C11, 3.24, 3.25.

#include <algorithm>

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;
using test_support::run_ranks;

/// What the ranks say about their places in `grid`, such as "2 x 2 mesh": the lines below its heading.
std::vector<std::string> places(const Result& result, const std::string& grid) {
  const auto heading = std::find(result.out.begin(), result.out.end(), "Building a " + grid + ":");
  std::vector<std::string> lines;
  for (auto line = heading; line != result.out.end(); ++line) {
    if (line->starts_with("ok") || line->starts_with("FAIL")) break;
    if (line != heading) lines.push_back(*line);
  }
  return lines;
}

/// Every check that is made for each of the three grids holds, or the program's exit code would not be 0; here only
/// that they are made.
void expect_checks(const Result& result) {
  ASSERT_EQ(result.exit_code, 0) << result.text();
  for (const std::string grid : {"mesh", "torus", "ring"}) {
    EXPECT_TRUE(result.has_line("ok    " + grid + ": numbered row by row, and found again by row and column: yes"));
    EXPECT_TRUE(result.has_line("ok    " + grid + ": the neighbours are those that arithmetic gives: yes"));
    EXPECT_TRUE(
        result.has_line("ok    " + grid + ": each neighbour's number arrives, one by one and all at once: yes"));
  }
  EXPECT_TRUE(result.has_line("ok    tree: one number from each neighbour, in one call: yes"));
  EXPECT_TRUE(result.has_line("ok    numbers received from nobody: 0"));
  EXPECT_TRUE(result.err.empty()) << result.text();
}

TEST(mpi_topology, four_ranks_are_a_mesh_a_torus_and_a_ring) {
  const auto result = run_ranks(4, "mpi_topology");
  expect_checks(result);
  EXPECT_THAT(places(result, "2 x 2 mesh"),
              testing::ElementsAre("process 0 row 0 column 0: up none, down 2, left none, right 1",
                                   "process 1 row 0 column 1: up none, down 3, left 0, right none",
                                   "process 2 row 1 column 0: up 0, down none, left none, right 3",
                                   "process 3 row 1 column 1: up 1, down none, left 2, right none"));
  EXPECT_THAT(places(result, "2 x 2 torus"),
              testing::ElementsAre("process 0 row 0 column 0: up 2, down 2, left 1, right 1",
                                   "process 1 row 0 column 1: up 3, down 3, left 0, right 0",
                                   "process 2 row 1 column 0: up 0, down 0, left 3, right 3",
                                   "process 3 row 1 column 1: up 1, down 1, left 2, right 2"));
  EXPECT_THAT(result.captures("^ok    mesh: sides without a neighbour: (\\d+)$"), testing::ElementsAre("8"));
  EXPECT_THAT(result.captures("^ok    torus: sides without a neighbour: (\\d+)$"), testing::ElementsAre("0"));
  EXPECT_TRUE(result.has_line("ok    torus: each number is home after 2 steps right, 2 down: yes")) << result.text();
  EXPECT_TRUE(result.has_line("ok    ring: each number is home after 4 steps right: yes")) << result.text();
  // The source's formula, for 1 to 16 ranks.
  EXPECT_THAT(result.captures("^1 to 16 ranks, by the square root: (.*)$"),
              testing::ElementsAre("1x1 1x2 1x3 2x2 2x2 2x3 2x3 2x4 3x3 3x3 3x3 3x4 3x4 3x4 3x5 4x4"));
}

TEST(mpi_topology, six_ranks_are_two_rows_of_three) {
  const auto result = run_ranks(6, "mpi_topology");
  expect_checks(result);
  const auto mesh = places(result, "2 x 3 mesh"), torus = places(result, "2 x 3 torus");
  ASSERT_EQ(mesh.size(), 6U) << result.text();
  ASSERT_EQ(torus.size(), 6U) << result.text();
  EXPECT_EQ(mesh[4], "process 4 row 1 column 1: up 1, down none, left 3, right 5");
  EXPECT_EQ(torus[0], "process 0 row 0 column 0: up 3, down 3, left 2, right 1");
  EXPECT_EQ(torus[5], "process 5 row 1 column 2: up 2, down 2, left 4, right 3");
  EXPECT_TRUE(result.has_line("ok    torus: each number is home after 3 steps right, 2 down: yes")) << result.text();
}

TEST(mpi_topology, ranks_without_a_place_say_so) {
  const auto result = run_ranks(5, "mpi_topology");
  expect_checks(result);
  const auto mesh = places(result, "2 x 2 mesh");
  ASSERT_EQ(mesh.size(), 5U) << result.text();
  EXPECT_EQ(mesh[3], "process 3 row 1 column 1: up 1, down none, left 2, right none");
  EXPECT_EQ(mesh[4], "process 4 is outside the grid");
  EXPECT_EQ(places(result, "2 x 2 torus").back(), "process 4 is outside the grid") << result.text();
}

TEST(mpi_topology, any_number_of_rows_will_do_and_even_one_rank) {
  const auto result = run_ranks(3, "mpi_topology", {"--rows", "3"});
  expect_checks(result);
  EXPECT_EQ(places(result, "3 x 1 torus").front(), "process 0 row 0 column 0: up 2, down 1, left 0, right 0")
      << result.text();
  const auto alone = run("mpi_topology");  // without mpirun
  expect_checks(alone);
  EXPECT_THAT(places(alone, "1 x 1 torus"),
              testing::ElementsAre("process 0 row 0 column 0: up 0, down 0, left 0, right 0"));
}

TEST(mpi_topology, more_rows_than_ranks_are_refused_in_one_line) {
  const auto result = run_ranks(2, "mpi_topology", {"--rows", "3"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_topology: 3 rows need as many ranks, here are 2"));
}

}  // namespace

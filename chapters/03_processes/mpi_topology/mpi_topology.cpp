// Cartesian topology
//
// Twelve ranks are arranged in a grid of 3 rows and 4 columns, and each asks MPI which ranks are above it, below it, to
// its left and to its right. In a mesh the grid has edges, and a rank there has fewer neighbours. In a torus the last
// row is above the first one, and the last column to the left of the first one. All ranks send their numbers to the
// right, by the same line of code; a message to a neighbour that does not exist needs no special case. Last, the ranks
// of each row add up their numbers.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_topology/mpi_topology.cpp common/cookbook/*.cpp -lfmt -o mpi_topology
// Run:     mpirun -n 12 mpi_topology [--rows N] [--all]

#include <algorithm>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

/// A communicator of the ranks that have a place in the grid; MPI_COMM_NULL on a rank that has none. Called by all.
MPI_Comm make_grid(int rows, int columns, bool torus) {
  const int sizes[] = {rows, columns};
  const int wraps_around[] = {torus, torus};  // for rows, for columns; 1: after the last comes the first again
  MPI_Comm grid;
  MPI_CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, wraps_around, 0, &grid));  // 0: all ranks keep their numbers
  return grid;
}

std::string name(int rank) { return rank == MPI_PROC_NULL ? "-" : std::to_string(rank); }

/// The ranks beside this one. MPI_PROC_NULL, "no process", stands for a neighbour that does not exist.
struct Neighbours {
  int up, down, left, right;

  explicit Neighbours(MPI_Comm grid) {
    MPI_CHECK(MPI_Cart_shift(grid, 0, 1, &up, &down));     // in dimension 0, from row to row, by 1 place
    MPI_CHECK(MPI_Cart_shift(grid, 1, 1, &left, &right));  // in dimension 1, from column to column
  }

  std::string text() const {
    return fmt::format("up {}  down {}  left {}  right {}", name(up), name(down), name(left), name(right));
  }
};

/// Sends `number` to `to`, and returns the number that `from` sends, or MPI_PROC_NULL if that is no process.
int shift(MPI_Comm grid, int number, int to, int from) {
  int received = MPI_PROC_NULL;
  MPI_CHECK(MPI_Sendrecv(&number, 1, MPI_INT, to, 0, &received, 1, MPI_INT, from, 0, grid, MPI_STATUS_IGNORE));
  return received;
}

/// The sum of the numbers in this rank's row.
int sum_of_row(MPI_Comm grid, int number) {
  MPI_Comm row;
  int sum = 0;
  const int remains[] = {0, 1};  // the ranks of a communicator differ in the column alone
  MPI_CHECK(MPI_Cart_sub(grid, remains, &row));
  MPI_CHECK(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, row));
  MPI_CHECK(MPI_Comm_free(&row));
  return sum;
}

/// Prints three tables side by side: the number of the rank at each place, and which numbers came there.
void print_tables(MPI_Comm grid, int rows, int columns, const std::vector<std::string>& came_in_mesh,
                  const std::vector<std::string>& came_in_torus) {
  const int width = std::max(6, 4 * columns);
  cookbook::println("each rank sends its number to the right; what comes in:");
  cookbook::println("{:>{}} |{:>{}} |{:>{}}", "ranks", width, "mesh", width, "torus", width);
  for (int row = 0; row < rows; ++row) {
    std::string ranks, mesh, torus;
    for (int column = 0; column < columns; ++column) {
      const int place[] = {row, column};
      int there;
      MPI_CHECK(MPI_Cart_rank(grid, place, &there));
      ranks += fmt::format("{:>4}", there);
      mesh += fmt::format("{:>4}", came_in_mesh[there]);
      torus += fmt::format("{:>4}", came_in_torus[there]);
    }
    cookbook::println("{:>{}} |{:>{}} |{:>{}}", ranks, width, mesh, width, torus, width);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int rows = 3;
  bool all = false;
  cookbook::Options options("Give the ranks places in a grid, and neighbours");
  options.add("rows", rows, "rows of the grid; it has as many columns as there are ranks for", 1, 1000);
  options.add_flag("all", all, "print the neighbours of all ranks, not of the last one alone");
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), columns = world.size() / rows;
  if (columns == 0) return world.usage_error(fmt::format("--rows {}: there are only {} ranks", rows, world.size()));

  MPI_Comm mesh = make_grid(rows, columns, false), torus = make_grid(rows, columns, true);
  std::string text = fmt::format("rank {} has no place", rank), came_in_mesh, came_in_torus, sum;
  if (mesh != MPI_COMM_NULL) {
    int place[2];
    MPI_CHECK(MPI_Cart_coords(mesh, rank, 2, place));  // row and column
    const Neighbours in_mesh(mesh), in_torus(torus);
    text = fmt::format("rank {0} at ({1}, {2})  mesh   {3}\nrank {0} at ({1}, {2})  torus  {4}", rank, place[0],
                       place[1], in_mesh.text(), in_torus.text());
    came_in_mesh = name(shift(mesh, rank, in_mesh.right, in_mesh.left));
    came_in_torus = name(shift(torus, rank, in_torus.right, in_torus.left));
    sum = std::to_string(sum_of_row(mesh, rank));
  }
  const std::vector<std::string> all_in_mesh = world.gather(came_in_mesh), all_in_torus = world.gather(came_in_torus),
                                 all_sums = world.gather(sum);
  if (rank == 0) print_tables(mesh, rows, columns, all_in_mesh, all_in_torus);
  world.print_in_order(all || rank == world.size() - 1 ? text : "");

  for (MPI_Comm* grid : {&mesh, &torus}) {
    if (*grid != MPI_COMM_NULL) MPI_CHECK(MPI_Comm_free(grid));
  }
  cookbook::Checks checks;
  if (rank == 0) {
    int right = 0;
    std::vector<int> sums, expected_sums(rows, 0);
    for (int one = 0; one < rows * columns; ++one) {
      const bool first = one % columns == 0;  // of its row
      right += all_in_mesh[one] == name(first ? MPI_PROC_NULL : one - 1);
      right += all_in_torus[one] == name(first ? one + columns - 1 : one - 1);
      if (first) sums.push_back(std::stoi(all_sums[one]));
      expected_sums[one / columns] += one;
    }
    checks.equal("numbers in mesh and torus that arithmetic gives as well", right, 2 * rows * columns);
    checks.equal("sums of the ranks' numbers in each row", sums, expected_sums);
  }
  return world.exit_code(checks);
}

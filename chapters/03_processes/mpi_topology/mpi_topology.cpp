// Virtual topology
//
// The ranks are given places in a grid of rows and columns, and each asks MPI who its neighbours are: above, below, to
// the left and to the right. In a mesh the grid has edges, and a rank there has fewer neighbours; in a torus each row
// and each column is closed to a ring. Messages then go to a neighbour, not to a number; one to nobody is no
// message. Last comes a topology without a grid, a tree. The pitfall, mpi_topology_minus_one.cpp, takes -1 for nobody.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_topology/mpi_topology.cpp common/cookbook/*.cpp -lfmt -o mpi_topology
// Run:     mpirun -n 4 mpi_topology [--rows N]

#include <array>
#include <string>
#include <vector>

#include "collective.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "grid_sizes.hpp"
#include "mpi_session.hpp"

namespace {

constexpr int tag = 1;

enum Direction { up, down, left, right };
constexpr std::array<Direction, 4> opposite = {down, up, right, left};
using Neighbours = std::array<int, 4>;

/// Ranks in rows and columns, and whether the last row is above the first one, and the last column left of the first.
struct Grid {
  std::string name;
  int rows, columns;
  int closed[2];

  /// The communicator of the ranks that have a place; MPI_COMM_NULL on those that have none. Called by all.
  MPI_Comm create() const {
    const int sizes[] = {rows, columns};
    MPI_Comm grid;
    CHECK_MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, closed, 1, &grid));  // 1: MPI may number the ranks anew
    return grid;
  }
};

/// Who is next to this rank: ranks in `grid`, or MPI_PROC_NULL for nobody.
Neighbours neighbours_of(MPI_Comm grid) {
  Neighbours found;
  CHECK_MPI(MPI_Cart_shift(grid, 0, 1, &found[up], &found[down]));  // in direction 0, the rows, by 1 place
  CHECK_MPI(MPI_Cart_shift(grid, 1, 1, &found[left], &found[right]));
  return found;
}

std::string name_of(int neighbour) { return neighbour == MPI_PROC_NULL ? "none" : fmt::format("{}", neighbour); }

/// The same by arithmetic: the ranks are numbered row by row.
Neighbours computed_neighbours(const Grid& grid, int row, int column) {
  const auto rank_at = [&](int r, int c) {
    if (grid.closed[0]) r = (r + grid.rows) % grid.rows;
    if (grid.closed[1]) c = (c + grid.columns) % grid.columns;
    const bool inside = 0 <= r && r < grid.rows && 0 <= c && c < grid.columns;
    return inside ? r * grid.columns + c : MPI_PROC_NULL;
  };
  return {rank_at(row - 1, column), rank_at(row + 1, column), rank_at(row, column - 1), rank_at(row, column + 1)};
}

/// All ranks send their number `to` one side and receive from the other. Returns what came, or -1 if nothing did.
int shift(MPI_Comm grid, int rank, int to, int from) {
  int came = -1;
  CHECK_MPI(MPI_Sendrecv(&rank, 1, MPI_INT, to, tag, &came, 1, MPI_INT, from, tag, grid, MPI_STATUS_IGNORE));
  return came;
}

/// After how many steps `to` one side each number is back where it began; gives up after `most`.
int steps_home(MPI_Comm grid, int rank, int to, int from, int most) {
  int value = rank, steps = 0;
  do {
    CHECK_MPI(MPI_Sendrecv_replace(&value, 1, MPI_INT, to, tag, from, tag, grid, MPI_STATUS_IGNORE));
    ++steps;
  } while (value != rank && steps < most);
  return steps;
}

/// Each rank has one number for each neighbour, and gets one from each, in a single call: from above comes what the
/// rank above has sent down. Nothing comes from nobody.
bool all_neighbours_at_once(MPI_Comm grid, int rank, const Neighbours& neighbours) {
  std::array<int, 4> sent, received, expected;
  for (const Direction side : {up, down, left, right}) {
    sent[side] = 10 * rank + side;
    received[side] = -1;
    expected[side] = neighbours[side] == MPI_PROC_NULL ? -1 : 10 * neighbours[side] + opposite[side];
  }
  CHECK_MPI(MPI_Neighbor_alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, grid));
  return received == expected;
}

/// What a rank says about its place, and what it has found to be true.
struct Findings {
  std::string line;
  bool numbered = true, computed = true, arrives = true, home = true;
  int nobody = 0;  ///< sides on which it has no neighbour
};

Findings look_around(const Grid& grid, MPI_Comm comm) {
  int rank = 0, place[2], found = -1;
  CHECK_MPI(MPI_Comm_rank(comm, &rank));  // the number in the grid, which may differ from that in MPI_COMM_WORLD
  CHECK_MPI(MPI_Cart_coords(comm, rank, 2, place));
  CHECK_MPI(MPI_Cart_rank(comm, place, &found));
  const auto& [row, column] = place;
  const Neighbours next = neighbours_of(comm);

  Findings findings;
  findings.line = fmt::format("process {} row {} column {}: up {}, down {}, left {}, right {}", rank, row, column,
                              name_of(next[up]), name_of(next[down]), name_of(next[left]), name_of(next[right]));
  findings.numbered = found == rank && rank == row * grid.columns + column;
  findings.computed = next == computed_neighbours(grid, row, column);
  findings.arrives = all_neighbours_at_once(comm, rank, next);
  for (const Direction side : {up, down, left, right}) {
    const int came = shift(comm, rank, next[opposite[side]], next[side]);
    findings.arrives = findings.arrives && came == (next[side] == MPI_PROC_NULL ? -1 : next[side]);
    findings.nobody += next[side] == MPI_PROC_NULL;
  }
  const int most = grid.rows * grid.columns;
  if (grid.closed[0]) findings.home = steps_home(comm, rank, next[down], next[up], most) == grid.rows;
  if (grid.closed[1]) findings.home &= steps_home(comm, rank, next[right], next[left], most) == grid.columns;
  return findings;
}

/// Builds the grid; each rank prints its place and its neighbours, and checks them. Called by all.
void show(const Grid& grid, const mpi::Session& session, cookbook::Checks& checks) {
  if (session.rank() == 0) cookbook::println("Building a {} x {} {}:", grid.rows, grid.columns, grid.name);
  MPI_Comm comm = grid.create();
  Findings findings{fmt::format("process {} is outside the grid", session.rank())};
  if (comm != MPI_COMM_NULL) {
    findings = look_around(grid, comm);
    CHECK_MPI(MPI_Comm_free(&comm));
  }
  session.print_in_order(findings.line);
  const bool numbered = collective::everywhere(findings.numbered), computed = collective::everywhere(findings.computed);
  const bool arrives = collective::everywhere(findings.arrives), home = collective::everywhere(findings.home);
  const long nobody = collective::sum(findings.nobody);
  if (session.rank() != 0) return;
  checks.that(grid.name + ": numbered row by row, and found again by row and column", numbered);
  checks.that(grid.name + ": the neighbours are those that arithmetic gives", computed);
  checks.that(grid.name + ": each neighbour's number arrives, one by one and all at once", arrives);
  checks.equal(grid.name + ": sides without a neighbour", nobody,
               2L * (grid.closed[0] ? 0 : grid.columns) + 2L * (grid.closed[1] ? 0 : grid.rows));
  if (grid.closed[0] || grid.closed[1]) {
    checks.that(fmt::format("{}: each number is home after {} steps right{}", grid.name, grid.columns,
                            grid.closed[0] ? fmt::format(", {} down", grid.rows) : ""),
                home);
  }
}

/// A topology that is no grid: in a tree, rank r has the parent (r - 1) / 2 and the children 2 r + 1 and 2 r + 2. Each
/// rank names its own neighbours, and no others. Called by all.
void show_tree(const mpi::Session& session, cookbook::Checks& checks) {
  const int rank = session.rank();
  std::vector<int> neighbours, sent, received, expected;
  if (rank > 0) neighbours.push_back((rank - 1) / 2);
  for (const int child : {2 * rank + 1, 2 * rank + 2}) {
    if (child < session.ranks()) neighbours.push_back(child);
  }
  const int count = static_cast<int>(neighbours.size());
  MPI_Comm tree;
  CHECK_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, count, neighbours.data(), MPI_UNWEIGHTED,  // they send to me
                                           count, neighbours.data(), MPI_UNWEIGHTED,                  // I send to them
                                           MPI_INFO_NULL, 0, &tree));
  for (const int other : neighbours) {
    sent.push_back(100 * rank + other);
    expected.push_back(100 * other + rank);
  }
  received.resize(neighbours.size(), -1);
  CHECK_MPI(MPI_Neighbor_alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, tree));
  CHECK_MPI(MPI_Comm_free(&tree));
  session.print_in_order(fmt::format("process {} in a tree: neighbours {}", rank, neighbours));
  const bool right = collective::everywhere(received == expected);
  if (rank == 0) checks.that("tree: one number from each neighbour, in one call", right);
}

/// Rank 0 sends to nobody, even synchronously, and receives from nobody. Neither waits, and nothing comes.
void message_to_nobody(cookbook::Checks& checks) {
  const int sent = 1;
  int received = -1, count = -1;
  MPI_Status status;
  CHECK_MPI(MPI_Ssend(&sent, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Recv(&received, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, &status));
  CHECK_MPI(MPI_Get_count(&status, MPI_INT, &count));
  checks.equal("numbers received from nobody", count, 0);
  checks.equal("where they should have gone is still", received, -1);
}

}  // namespace

int main(int argc, char** argv) {
  int rows = 0;
  cookbook::Options options("Give the ranks places in a mesh, a torus, a ring and a tree");
  options.add("rows", rows, "rows of mesh and torus, or 0 for the square root of the ranks, rounded down", 0, 1000);
  options.parse(argc, argv);

  const mpi::Session session;
  const int ranks = session.ranks();
  if (rows > ranks) return session.refuse(fmt::format("{} rows need as many ranks, here are {}", rows, ranks));
  if (rows == 0) rows = grid_sizes::near_square(ranks)[0];
  const int columns = ranks / rows;

  cookbook::Checks checks;
  show({"mesh", rows, columns, {0, 0}}, session, checks);
  show({"torus", rows, columns, {1, 1}}, session, checks);
  show({"ring", 1, ranks, {0, 1}}, session, checks);
  show_tree(session, checks);
  if (session.rank() == 0) {
    message_to_nobody(checks);
    grid_sizes::show(checks);
  }
  return session.exit_code(checks);
}

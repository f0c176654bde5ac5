// Broadcast
//
// One rank, the root, has a value; after a broadcast every rank has it. MPI_Bcast does this in one call, which all
// ranks make together. Beside it stands what such a call can do inside: in each round, every rank that has the value
// sends it to one that does not have it yet, so that ten ranks need four rounds (broadcast_by_hand.hpp).
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_broadcast/mpi_broadcast.cpp common/cookbook/*.cpp -lfmt -o mpi_broadcast
// Run:     mpirun -n 10 mpi_broadcast [--root N]

#include "broadcast_by_hand.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

int main(int argc, char** argv) {
  int root = 0;
  cookbook::Options options("Give one rank's value to all ranks");
  options.add("root", root, "the rank that has the value", 0, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  if (root >= ranks) return world.usage_error(fmt::format("--root {}: there are only {} ranks", root, ranks));

  int value = rank == root ? 100 : -1;
  MPI_CHECK(MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD));
  world.print_in_order(fmt::format("rank {} has {}", rank, value));

  int by_hand = rank == root ? 100 : -1;
  broadcast_by_hand(&by_hand, 1, MPI_INT, root, MPI_COMM_WORLD);

  // Rank 0 adds up on how many ranks each of the two is right.
  const int right_here[] = {value == 100, by_hand == 100};
  int right[2] = {};
  MPI_CHECK(MPI_Reduce(right_here, right, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));

  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("ranks with the root's value after MPI_Bcast", right[0], ranks);
    checks.equal("ranks with the root's value after the broadcast by hand", right[1], ranks);
  }
  return world.exit_code(checks);
}

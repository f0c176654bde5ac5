// Broadcast
//
// One rank, the root, has a value; after a broadcast every rank has it. MPI_Bcast does this in one call, which all
// ranks make together. Beside it stand two forms that are made of messages. In the naive one the root sends to one rank
// after another. In the other one every rank that has the value sends it on. The program prints in which round each
// rank gets the value.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_broadcast/mpi_broadcast.cpp common/cookbook/*.cpp -lfmt -o mpi_broadcast
// Run:     mpirun -n 10 mpi_broadcast [--root N]

#include <vector>

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

  int one_by_one = rank == root ? 100 : -1, by_tree = one_by_one;
  const int round_one_by_one = broadcast_one_by_one(&one_by_one, 1, MPI_INT, root, MPI_COMM_WORLD);
  const int round_by_tree = broadcast_by_tree(&by_tree, 1, MPI_INT, root, MPI_COMM_WORLD);

  const auto cell = [](int what, int round) {
    return round == 0 ? fmt::format("{}", what) : fmt::format("{} in round {}", what, round);
  };
  if (rank == 0) cookbook::println("         MPI_Bcast   one by one       binomial tree");
  world.print_in_order(fmt::format("rank {:<4}{:<12}{:<17}{}", rank, value, cell(one_by_one, round_one_by_one),
                                   cell(by_tree, round_by_tree)));

  const std::vector<long> right = {mpi::sum_over_ranks(value == 100), mpi::sum_over_ranks(one_by_one == 100),
                                   mpi::sum_over_ranks(by_tree == 100)};
  const std::vector<int> rounds = {mpi::minmax_over_ranks(round_one_by_one).second,
                                   mpi::minmax_over_ranks(round_by_tree).second};
  int doublings = 0;  // that it takes from one rank to all
  while (1 << doublings < ranks) ++doublings;
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("ranks that have the root's value, in each form", right, {ranks, ranks, ranks});
    checks.equal("rounds, one by one and by the tree", rounds, {ranks - 1, doublings});
  }
  return world.exit_code(checks);
}

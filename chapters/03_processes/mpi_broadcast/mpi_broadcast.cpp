// Broadcast
//
// One rank, the root, has a value; after a broadcast every rank has it. MPI_Bcast does this in one call, which all
// ranks make together. What can such a call do inside? Two forms that are made of messages show it: in one the root
// sends to one rank after another, in the other one every rank that has the value sends it on. For each round the
// program shows which ranks have the value by then, as long as the form has rounds: each character is a rank,
// `#` has the value, and `.` has not.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_broadcast/mpi_broadcast.cpp common/cookbook/*.cpp -lfmt -o mpi_broadcast
// Run:     mpirun -n 10 mpi_broadcast [--root N]

#include <algorithm>
#include <string>
#include <vector>

#include "broadcast_by_hand.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

/// A character per rank: # for one that has got the value by this round (the root has it in round 0), . for the others.
std::string who_has_it(const std::vector<int>& round_of_rank, int round) {
  std::string picture;
  for (const int got_in : round_of_rank) picture += got_in <= round ? '#' : '.';
  return picture;
}

/// What each rank has given, on rank 0. Called by all.
std::vector<int> from_all_ranks(int mine, const mpi::Environment& world) {
  std::vector<int> all(world.rank() == 0 ? static_cast<std::size_t>(world.size()) : 0);
  MPI_CHECK(MPI_Gather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, 0, MPI_COMM_WORLD));
  return all;
}

}  // namespace

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

  const std::vector<int> rounds_one_by_one = from_all_ranks(round_one_by_one, world),
                         rounds_by_tree = from_all_ranks(round_by_tree, world);
  const std::vector<long> right = {mpi::sum_over_ranks(value == 100), mpi::sum_over_ranks(one_by_one == 100),
                                   mpi::sum_over_ranks(by_tree == 100)};
  cookbook::Checks checks;
  if (rank == 0) {
    const int last = *std::max_element(rounds_one_by_one.begin(), rounds_one_by_one.end());
    const int last_by_tree = *std::max_element(rounds_by_tree.begin(), rounds_by_tree.end());
    const int width = std::max(ranks, 10) + 3;  // of the column in the middle
    cookbook::println("after round   {:<{}}binomial tree", "one by one", width);
    for (int round = 0; round <= std::max(last, last_by_tree); ++round) {
      const std::string one_by_one_now = who_has_it(rounds_one_by_one, round);
      if (round > last_by_tree) {
        cookbook::println("{:<14}{}", round, one_by_one_now);  // the tree needs no such round
      } else {
        cookbook::println("{:<14}{:<{}}{}", round, one_by_one_now, width, who_has_it(rounds_by_tree, round));
      }
    }
    int doublings = 0;  // that it takes from one rank to all
    while (1 << doublings < ranks) ++doublings;
    checks.equal("rounds, one by one and by the tree", std::vector{last, last_by_tree}, {ranks - 1, doublings});
    checks.equal("ranks with the value, by MPI_Bcast, one by one, by the tree", right, {ranks, ranks, ranks});
  }
  return world.exit_code(checks);
}

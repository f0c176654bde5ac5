// Gather
//
// Each of five ranks has a number, the square of (rank + 1). MPI_Gather collects the numbers on one rank, the root,
// in the order of the ranks. MPI_Allgather gives the collection to all ranks. MPI_Gatherv collects lists of different
// lengths; the root has to know these lengths before.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_gather/mpi_gather.cpp common/cookbook/*.cpp -lfmt -o mpi_gather
// Run:     mpirun -n 5 mpi_gather [--root N] [--odd-one N]

#include <numeric>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

/// The lists of all ranks one after another, on the root; nothing on the others. Called by all ranks.
std::vector<int> gather_lists(const std::vector<int>& mine, int root, const mpi::Environment& world) {
  const int length = static_cast<int>(mine.size()), ranks = world.size();
  std::vector<int> lengths(ranks), starts(ranks);  // used on the root only
  MPI_CHECK(MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, root, MPI_COMM_WORLD));
  std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);  // each list begins where the one before ends
  std::vector<int> all(starts.back() + lengths.back());
  MPI_CHECK(MPI_Gatherv(mine.data(), length, MPI_INT,  // what this rank gives, and where the root puts it
                        all.data(), lengths.data(), starts.data(), MPI_INT, root, MPI_COMM_WORLD));
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  int root = 0, odd_one = -1;
  cookbook::Options options("Collect a value of each rank");
  options.add("root", root, "the rank that collects", 0, 1'000'000);
  options.add("odd-one", odd_one, "a rank that has 99 instead of its square, or -1 for none", -1, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  if (root >= ranks) return world.usage_error(fmt::format("--root {}: there are only {} ranks", root, ranks));

  const int mine = rank == odd_one ? 99 : (rank + 1) * (rank + 1);
  std::vector<int> on_root(ranks, -1), on_all(ranks, -1);
  MPI_CHECK(MPI_Gather(&mine, 1, MPI_INT, on_root.data(), 1, MPI_INT, root, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Allgather(&mine, 1, MPI_INT, on_all.data(), 1, MPI_INT, MPI_COMM_WORLD));

  // Each rank has a list that holds its number as many times: rank 0 has {}, rank 1 has {1}, rank 2 has {2, 2}.
  const std::vector<int> lists = gather_lists(std::vector<int>(rank, rank), root, world);

  std::string lines;
  for (int from = 0; from < ranks; ++from) {
    lines += fmt::format("{}rank {} has {} from rank {}", from > 0 ? "\n" : "", root, on_root[from], from);
  }
  world.print_in_order(rank == root ? lines + fmt::format("\nrank {} has the lists {}", root, lists) : "");

  std::vector<int> expected, expected_lists;
  for (int from = 0; from < ranks; ++from) {
    expected.push_back(from == odd_one ? 99 : (from + 1) * (from + 1));
    expected_lists.insert(expected_lists.end(), from, from);
  }
  const bool root_has = mpi::all_ranks(rank != root || on_root == expected);  // true on the other ranks
  const bool others_have_nothing = mpi::all_ranks(rank == root || on_root == std::vector<int>(ranks, -1));
  const bool all_have = mpi::all_ranks(on_all == expected);
  const bool lists_right = mpi::all_ranks(rank != root || lists == expected_lists);
  cookbook::Checks checks;
  if (rank == 0) {
    checks.that("MPI_Gather: the root has the numbers in the order of the ranks", root_has);
    checks.that("MPI_Gather: the other ranks have received nothing", others_have_nothing);
    checks.that("MPI_Allgather: all ranks have the numbers", all_have);
    checks.that("MPI_Gatherv: the root has the lists one after another", lists_right);
  }
  return world.exit_code(checks);
}

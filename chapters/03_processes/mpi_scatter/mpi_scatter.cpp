// Scatter
//
// The root has a list of ten numbers and deals them out to ten ranks: number i goes to rank i. MPI_Scatter does this in
// one call. It looks at no length: so the ranks compare it with their number first, and all of them end with a message
// if it is wrong. MPI_Scatterv deals out shares that need not be equal, here ten numbers to three ranks.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_scatter/mpi_scatter.cpp common/cookbook/*.cpp -lfmt -o mpi_scatter
// Run:     mpirun -n 10 mpi_scatter [--items N] [--root N]

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

/// Number i of the root's list goes to rank i, which gets it as the result. Called by all ranks; only the root's list
/// counts. If it does not have one number per rank, this throws std::invalid_argument on every rank.
int scatter_one_each(const std::vector<int>& list, int root, const mpi::Environment& world) {
  const int ranks = world.size();
  int items = static_cast<int>(list.size());  // only the root knows how long the list is, so it tells the others
  MPI_CHECK(MPI_Bcast(&items, 1, MPI_INT, root, MPI_COMM_WORLD));
  if (items != ranks) throw std::invalid_argument(fmt::format("expecting {} items, got {}", ranks, items));
  int mine = -1;
  MPI_CHECK(MPI_Scatter(list.data(), 1, MPI_INT, &mine, 1, MPI_INT, root, MPI_COMM_WORLD));
  return mine;
}

/// How many numbers each rank gets, and where in the list its share begins.
struct Shares {
  std::vector<int> counts, starts;
};

/// The shares of `items` numbers for the first `receivers` of the `ranks`, as equal as can be; the others get nothing.
Shares shares_of(int items, int receivers, int ranks) {
  Shares shares{std::vector<int>(ranks), std::vector<int>(ranks)};
  for (int i = 0; i < receivers; ++i) shares.counts[i] = items / receivers + (i < items % receivers ? 1 : 0);
  std::exclusive_scan(shares.counts.begin(), shares.counts.end(), shares.starts.begin(), 0);
  return shares;
}

std::vector<int> one_to(int last) {
  std::vector<int> numbers(last);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  int items = 10, root = 0;
  cookbook::Options options("Deal out a list to the ranks");
  options.add("items", items, "length of the root's list; it must be the number of ranks", 0, 1'000'000);
  options.add("root", root, "the rank that has the list", 0, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  if (root >= ranks) return world.usage_error(fmt::format("--root {}: there are only {} ranks", root, ranks));

  int number = -1;
  try {
    number = scatter_one_each(rank == root ? one_to(items) : std::vector<int>(), root, world);
  } catch (const std::invalid_argument& wrong_length) {
    cookbook::print_error(fmt::format("rank {}: {}", rank, wrong_length.what()));
    return 2;
  }
  world.print_in_order(fmt::format("rank {} has {}", rank, number));
  std::vector<int> numbers(ranks);  // the opposite of a scatter: rank 0 gets the number of each rank
  MPI_CHECK(MPI_Gather(&number, 1, MPI_INT, numbers.data(), 1, MPI_INT, 0, MPI_COMM_WORLD));

  constexpr int total = 10;  // numbers for three ranks
  const std::vector<int> list = rank == root ? one_to(total) : std::vector<int>();
  const Shares shares = shares_of(total, std::min(3, ranks), ranks);  // the same on all ranks
  std::vector<int> share(shares.counts[rank]), whole(total);
  MPI_CHECK(MPI_Scatterv(list.data(), shares.counts.data(), shares.starts.data(), MPI_INT,  // read on the root only
                         share.data(), shares.counts[rank], MPI_INT, root, MPI_COMM_WORLD));
  world.print_in_order(share.empty() ? "" : fmt::format("rank {} has the share {}", rank, share));
  MPI_CHECK(MPI_Allgatherv(share.data(), shares.counts[rank], MPI_INT,  // back again, on all ranks
                           whole.data(), shares.counts.data(), shares.starts.data(), MPI_INT, MPI_COMM_WORLD));
  const bool all_have_whole = mpi::all_ranks(whole == one_to(total));
  const long sum = mpi::sum_over_ranks(std::accumulate(share.begin(), share.end(), 0));

  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("the numbers of all ranks", numbers, one_to(items));
    checks.equal("sum of the numbers in all shares", sum, 55);
    checks.that("the shares, put together again, are the list", all_have_whole);
  }
  return world.exit_code(checks);
}

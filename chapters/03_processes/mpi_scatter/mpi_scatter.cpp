// Scatter
//
// The root has a list of 23 numbers and deals them out to ten ranks. MPI_Scatter gives every rank equally many, and
// with shares of two numbers three are left that no rank gets, without an error. MPI_Scatterv deals out shares of
// different lengths. The program prints what each rank gets by both, and which numbers nobody has.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_scatter/mpi_scatter.cpp common/cookbook/*.cpp -lfmt -o mpi_scatter
// Run:     mpirun -n 10 mpi_scatter [--numbers N] [--root N]

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

/// Each rank gets as many numbers as every other one. The rest of the list goes to nobody.
std::vector<int> scatter_equal_shares(const std::vector<int>& list, int total, int root, int ranks) {
  const int count = total / ranks;
  std::vector<int> share(count);
  MPI_CHECK(MPI_Scatter(list.data(), count, MPI_INT, share.data(), count, MPI_INT, root, MPI_COMM_WORLD));
  return share;
}

/// How many numbers each rank gets, and where in the list its share begins.
struct Shares {
  std::vector<int> counts, starts;
};

/// Shares of `total` numbers that are as equal as can be: the first ranks get one more.
Shares shares_of(int total, int ranks) {
  Shares shares{std::vector<int>(ranks), std::vector<int>(ranks)};
  for (int i = 0; i < ranks; ++i) shares.counts[i] = total / ranks + (i < total % ranks ? 1 : 0);
  std::exclusive_scan(shares.counts.begin(), shares.counts.end(), shares.starts.begin(), 0);
  return shares;
}

/// Each rank gets its own of these shares, which together are the whole list.
std::vector<int> scatter_all(const std::vector<int>& list, const Shares& shares, int root, int rank) {
  std::vector<int> share(shares.counts[rank]);
  MPI_CHECK(MPI_Scatterv(list.data(), shares.counts.data(), shares.starts.data(), MPI_INT,  // read on the root only
                         share.data(), shares.counts[rank], MPI_INT, root, MPI_COMM_WORLD));
  return share;
}

std::vector<int> one_to(int last) {
  std::vector<int> numbers(last);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

/// Which numbers of the list from 1 to `last` nobody has, if all ranks together have those in `found`.
std::vector<int> missing(int last, std::vector<int> found) {
  const std::vector<int> list = one_to(last);
  std::vector<int> numbers;
  std::sort(found.begin(), found.end());
  std::set_difference(list.begin(), list.end(), found.begin(), found.end(), std::back_inserter(numbers));
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  int numbers = 23, root = 0;
  cookbook::Options options("Deal out a list to the ranks");
  options.add("numbers", numbers, "length of the root's list", 0, 1'000'000);
  options.add("root", root, "the rank that has the list", 0, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  if (root >= ranks) return world.usage_error(fmt::format("--root {}: there are only {} ranks", root, ranks));

  const std::vector<int> list = rank == root ? one_to(numbers) : std::vector<int>();
  int total = static_cast<int>(list.size());  // only the root knows how long the list is, so it tells the others
  MPI_CHECK(MPI_Bcast(&total, 1, MPI_INT, root, MPI_COMM_WORLD));
  const std::vector<int> equal = scatter_equal_shares(list, total, root, ranks);
  const Shares shares = shares_of(total, ranks);  // the same on all ranks
  const std::vector<int> share = scatter_all(list, shares, root, rank);

  const auto row = [](auto who, auto by_scatter, auto by_scatterv) {
    return fmt::format("{:<13}{:<28} {}", who, fmt::format("{}", by_scatter), fmt::format("{}", by_scatterv));
  };
  if (rank == 0) {
    cookbook::print_line(row(fmt::format("{} numbers", total), "MPI_Scatter, equal shares", "MPI_Scatterv"));
  }
  world.print_in_order(row(fmt::format("rank {}", rank), equal, share));

  const int count = total / ranks;  // the opposite of a scatter: rank 0 gets what all ranks have
  std::vector<int> all_equal(count * ranks), whole(total);
  MPI_CHECK(MPI_Gather(equal.data(), count, MPI_INT, all_equal.data(), count, MPI_INT, 0, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Gatherv(share.data(), shares.counts[rank], MPI_INT, whole.data(), shares.counts.data(),
                        shares.starts.data(), MPI_INT, 0, MPI_COMM_WORLD));
  cookbook::Checks checks;
  if (rank == 0) {
    cookbook::print_line(row("nobody", missing(total, all_equal), missing(total, whole)));
    checks.that("the list, put together again from the shares of MPI_Scatterv", whole == one_to(total));
  }
  return world.exit_code(checks);
}

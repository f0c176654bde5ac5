// Scatter
//
// The root has a list of ten numbers and deals them out to ten ranks, one to each. MPI_Scatter does this in one call,
// but does not look at the length of the list. So all ranks compare the length with the number of ranks
// first, and all of them end with a message if it is wrong. Then the root has 23 numbers, which is no multiple of ten.
// With equal shares some numbers go to nobody, without an error; MPI_Scatterv deals out shares of different lengths.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_scatter/mpi_scatter.cpp common/cookbook/*.cpp -lfmt -o mpi_scatter
// Run:     mpirun -n 10 mpi_scatter [--items N] [--total N] [--root N]

#include <algorithm>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

/// The number at place i of the root's list goes to rank i, which gets it as the result. Called by all ranks; only the
/// root's list counts. If it does not have one number per rank, this throws std::invalid_argument on every rank.
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

/// Shares of `total` numbers that are as equal as can be: the first ranks get one more.
Shares shares_of(int total, int ranks) {
  Shares shares{std::vector<int>(ranks), std::vector<int>(ranks)};
  for (int i = 0; i < ranks; ++i) shares.counts[i] = total / ranks + (i < total % ranks ? 1 : 0);
  std::exclusive_scan(shares.counts.begin(), shares.counts.end(), shares.starts.begin(), 0);
  return shares;
}

/// Each rank gets as many numbers as every other one. The rest of the list goes to nobody.
std::vector<int> scatter_equal_shares(const std::vector<int>& list, int total, int root, int ranks) {
  const int count = total / ranks;
  std::vector<int> share(count);
  MPI_CHECK(MPI_Scatter(list.data(), count, MPI_INT, share.data(), count, MPI_INT, root, MPI_COMM_WORLD));
  return share;
}

/// All `total` numbers, in shares that each rank computes for itself.
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

long sum(const std::vector<int>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0L); }

}  // namespace

int main(int argc, char** argv) {
  int items = 10, total = 23, root = 0;
  cookbook::Options options("Deal out a list to the ranks");
  options.add("items", items, "length of the root's first list; it must be the number of ranks", 0, 1'000'000);
  options.add("total", total, "length of the root's second list", 0, 1'000'000);
  options.add("root", root, "the rank that has the lists", 0, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  if (root >= ranks) return world.usage_error(fmt::format("--root {}: there are only {} ranks", root, ranks));

  const auto list = [&](int length) { return rank == root ? one_to(length) : std::vector<int>(); };
  int number = -1;
  try {
    number = scatter_one_each(list(items), root, world);
  } catch (const std::invalid_argument& wrong_length) {
    cookbook::print_error(fmt::format("rank {}: {}", rank, wrong_length.what()));
    return 2;
  }
  const std::vector<int> equal = scatter_equal_shares(list(total), total, root, ranks);
  const Shares shares = shares_of(total, ranks);  // the same on all ranks
  const std::vector<int> share = scatter_all(list(total), shares, root, rank);

  const auto row = [](auto who, auto first, auto second, auto third) {
    return fmt::format("{:<9}{:<15}{:<27}{}", who, first, fmt::format("{}", second), fmt::format("{}", third));
  };
  if (rank == 0)
    cookbook::print_line(row("", fmt::format("{} numbers", items), fmt::format("{} in equal shares", total),
                             fmt::format("{} by MPI_Scatterv", total)));
  world.print_in_order(row(fmt::format("rank {}", rank), number, equal, share));

  const int count = total / ranks;  // the opposite of a scatter: rank 0 gets what all ranks have
  std::vector<int> numbers(ranks), all_equal(count * ranks), whole(total);
  MPI_CHECK(MPI_Gather(&number, 1, MPI_INT, numbers.data(), 1, MPI_INT, 0, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Gather(equal.data(), count, MPI_INT, all_equal.data(), count, MPI_INT, 0, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Gatherv(share.data(), shares.counts[rank], MPI_INT, whole.data(), shares.counts.data(),
                        shares.starts.data(), MPI_INT, 0, MPI_COMM_WORLD));
  cookbook::Checks checks;
  if (rank == 0) {
    cookbook::print_line(row("sum", sum(numbers), sum(all_equal), sum(whole)));
    const auto left = [](int last, const auto& found) { return fmt::format("{}", missing(last, found)); };
    cookbook::print_line(row("nobody", left(items, numbers), left(total, all_equal), left(total, whole)));
    checks.equal("the first list, put together again", numbers, one_to(items));
    checks.that("the second list, put together again from the shares of MPI_Scatterv", whole == one_to(total));
  }
  return world.exit_code(checks);
}

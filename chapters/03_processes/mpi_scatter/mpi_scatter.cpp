// Scatter
//
// The root has a list of ten numbers and deals them out: number i goes to rank i. MPI_Scatter does it in one call;
// beside it stand the same by messages, from the root to each in turn, and by a tree, in which half of the list goes to
// another rank that deals it out. MPI_Scatterv deals out unequal shares, and the gathering calls bring the list
// together again. A list that has not one number a rank is refused on all ranks; the pitfall,
// mpi_scatter_root_only.cpp, refuses it on the root alone, and the others wait for ever.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_scatter/mpi_scatter.cpp common/cookbook/*.cpp -lfmt -o mpi_scatter
// Run:     mpirun -n 10 mpi_scatter [--items N] [--root N] [--up-to N]

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "collective.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "mpi_session.hpp"
#include "scatter_by_hand.hpp"

namespace {

/// Number i of the root's list goes to rank i, which gets it as the result. Called by all; only the root's list counts.
/// If the list has not one number a rank, this throws on every rank.
int scatter_one_each(const std::vector<int>& list, int root, const mpi::Session& session) {
  // Only the root knows how long the list is. If it alone gave up, the others would wait for it in MPI_Scatter.
  int items = static_cast<int>(list.size());
  CHECK_MPI(MPI_Bcast(&items, 1, MPI_INT, root, MPI_COMM_WORLD));
  if (items != session.ranks()) {
    throw std::invalid_argument(
        fmt::format("rank {}: expecting {} items, got {}", session.rank(), session.ranks(), items));
  }
  int mine = -session.rank();  // whatever it is before
  CHECK_MPI(MPI_Scatter(list.data(), 1, MPI_INT, &mine, 1, MPI_INT, root, MPI_COMM_WORLD));
  return mine;
}

/// The shares of `items` for `receivers` of the `ranks`, as equal as can be, and where each begins in the list.
struct Shares {
  Shares(int items, int receivers, int ranks) : counts(static_cast<std::size_t>(ranks)), starts(counts.size()) {
    for (int i = 0; i < receivers; ++i) {
      counts[static_cast<std::size_t>(i)] = items / receivers + (i < items % receivers ? 1 : 0);
    }
    std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
  }
  std::vector<int> counts, starts;
};

/// The root's list goes to the ranks by shares; those without one call it too. Returns this rank's share.
std::vector<int> scatter_by_shares(const std::vector<int>& list, const Shares& shares, int root, int rank) {
  const int count = shares.counts[static_cast<std::size_t>(rank)];
  std::vector<int> mine(static_cast<std::size_t>(count), -1);
  CHECK_MPI(MPI_Scatterv(list.data(), shares.counts.data(), shares.starts.data(), MPI_INT, mine.data(), count, MPI_INT,
                         root, MPI_COMM_WORLD));
  return mine;
}

std::vector<int> one_to(int last) {
  std::vector<int> numbers(static_cast<std::size_t>(last));
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

/// One number each, there and back, by the library and by hand.
void equal_shares(const std::vector<int>& list, int root, const mpi::Session& session, cookbook::Checks& checks) {
  const int mine = scatter_one_each(list, root, session);
  session.print_in_order(fmt::format("process = {} recvbuf = {}", session.rank(), mine));

  int one_by_one = -1, all_at_once = -1, tree = -1;
  scatter_by_hand::one_by_one(list.data(), &one_by_one, 1, MPI_INT, root);
  scatter_by_hand::all_at_once(list.data(), &all_at_once, 1, MPI_INT, root);
  scatter_by_hand::tree(list, &tree, 1, MPI_INT, root);
  const int expected = session.rank() + 1;
  const bool library_right = collective::everywhere(mine == expected);
  const bool all_right = collective::everywhere(one_by_one == expected && all_at_once == expected && tree == expected);

  std::vector<int> back(static_cast<std::size_t>(session.ranks()), -1);
  CHECK_MPI(MPI_Gather(&mine, 1, MPI_INT, back.data(), 1, MPI_INT, 0, MPI_COMM_WORLD));
  if (session.rank() != 0) return;
  checks.that("number i is at rank i, by MPI_Scatter", library_right);
  checks.that("the same one by one, all at once and by a tree", all_right);
  checks.equal("gathered again", back, one_to(session.ranks()));
}

/// Ten numbers for three ranks, there and back.
void unequal_shares(int root, const mpi::Session& session, cookbook::Checks& checks) {
  const std::vector<int> list = one_to(10), nothing;
  const int receivers = std::min(3, session.ranks());
  const Shares shares(10, receivers, session.ranks());
  const int rank = session.rank();
  const std::vector<int> mine = scatter_by_shares(rank == root ? list : nothing, shares, root, rank);
  session.print_in_order(mine.empty() ? "" : fmt::format("process = {} share = {}", rank, mine));

  const int count = static_cast<int>(mine.size());
  std::vector<int> at_root(rank == root ? list.size() : 0, -1), everywhere(list.size(), -1);
  CHECK_MPI(MPI_Gatherv(mine.data(), count, MPI_INT, at_root.data(), shares.counts.data(), shares.starts.data(),
                        MPI_INT, root, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Allgatherv(mine.data(), count, MPI_INT, everywhere.data(), shares.counts.data(), shares.starts.data(),
                           MPI_INT, MPI_COMM_WORLD));
  const bool root_has_list = collective::everywhere(rank != root || at_root == list);
  const bool all_have_list = collective::everywhere(everywhere == list);
  if (rank != 0) return;
  const std::vector<int> counts(shares.counts.begin(), shares.counts.begin() + receivers);
  checks.equal("numbers in the shares", std::accumulate(counts.begin(), counts.end(), 0), 10);
  checks.within("largest less smallest share", counts.front() - counts.back(), 0, 1);
  checks.that("MPI_Gatherv gives the list back to the root", root_has_list);
  checks.that("MPI_Allgatherv gives it to all", all_have_list);
}

}  // namespace

int main(int argc, char** argv) {
  int items = 10, root = 0;
  std::size_t up_to = 1 << 20;
  cookbook::Options options("Deal out a list to the ranks");
  options.add("items", items, "length of the root's list; there must be as many ranks", 0, 1'000'000);
  options.add("root", root, "the rank that has the list", 0, 1'000'000);
  options.add("up-to", up_to, "largest size that is measured, in bytes", 8, 1 << 20);
  options.parse(argc, argv);

  const mpi::Session session;
  if (root >= session.ranks()) return session.refuse(fmt::format("no rank {} among {}", root, session.ranks()));

  cookbook::Checks checks;
  try {
    equal_shares(session.rank() == root ? one_to(items) : std::vector<int>(), root, session, checks);
  } catch (const std::invalid_argument& wrong_count) {
    cookbook::complain(wrong_count.what());
    return 2;
  }
  unequal_shares(root, session, checks);
  scatter_by_hand::measure(root, up_to, session, checks);
  return session.exit_code(checks);
}

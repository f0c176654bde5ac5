// Gather
//
// Each of five ranks has a number, the square of its rank + 1, and the root collects them in the order of the ranks.
// MPI_Gather does it in one call; beside it stands the same by messages. MPI_Gatherv collects lists of different
// lengths, and MPI_Allgather gives the collection to all ranks, which by hand goes round a ring. What is printed is
// what was received: --odd-one 3 --value 99 shows it. The pitfall, mpi_gather_total.cpp, gives the wrong one of two
// counts.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_gather/mpi_gather.cpp common/cookbook/*.cpp -lfmt -o mpi_gather
// Run:     mpirun -n 5 mpi_gather [--root N] [--odd-one N] [--value N] [--up-to N]

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "collective.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "gather_by_hand.hpp"
#include "mpi_session.hpp"

namespace {

constexpr int absent = -1;

/// The numbers of all ranks in their order, on the root; elsewhere the buffer stays as it is. Called by all.
std::vector<int> gather(int mine, int root, int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks), absent);  // needed on the root only
  CHECK_MPI(MPI_Gather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, root, MPI_COMM_WORLD));
  return all;
}

/// The same, on all ranks.
std::vector<int> gather_everywhere(int mine, int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks), absent);
  CHECK_MPI(MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD));
  return all;
}

/// The lists of all ranks one after another, on the root; nothing elsewhere. The root does not know how long they are,
/// so their lengths are gathered first.
std::vector<int> gather_lists(const std::vector<int>& mine, int root, const mpi::Session& session) {
  const int length = static_cast<int>(mine.size());
  const std::vector<int> lengths = gather(length, root, session.ranks());
  if (session.rank() != root) {
    CHECK_MPI(MPI_Gatherv(mine.data(), length, MPI_INT, nullptr, nullptr, nullptr, MPI_INT, root, MPI_COMM_WORLD));
    return {};
  }
  std::vector<int> starts(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);
  std::vector<int> all(static_cast<std::size_t>(starts.back() + lengths.back()), absent);
  CHECK_MPI(MPI_Gatherv(mine.data(), length, MPI_INT, all.data(), lengths.data(), starts.data(), MPI_INT, root,
                        MPI_COMM_WORLD));
  return all;
}

/// What the root has received, a line a rank.
std::string lines_of_root(const std::vector<int>& all, int root) {
  std::string lines = fmt::format("rank = {} ...receiving data from the other processes", root);
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    if (i != root) {
      lines += fmt::format("\nprocess {} receiving {} from process {}", root, all[static_cast<std::size_t>(i)], i);
    }
  }
  return lines;
}

/// The root's list, brought to rank 0, which makes the checks. Called by all.
std::vector<int> list_of(int root, std::vector<int> list) {
  int length = static_cast<int>(list.size());
  CHECK_MPI(MPI_Bcast(&length, 1, MPI_INT, root, MPI_COMM_WORLD));
  list.resize(static_cast<std::size_t>(length));
  CHECK_MPI(MPI_Bcast(list.data(), length, MPI_INT, root, MPI_COMM_WORLD));
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  int root = 0, odd_one = -1, value = 99;
  std::size_t up_to = 1 << 20;
  cookbook::Options options("Collect a number of each rank on one of them");
  options.add("root", root, "the rank that collects", 0, 1'000'000);
  options.add("odd-one", odd_one, "a rank that has another number than the square, or -1 for none", -1, 1'000'000);
  options.add("value", value, "the number that it has", 0, 1'000'000);
  options.add("up-to", up_to, "largest size that is measured, in bytes", 8, 1 << 20);
  options.parse(argc, argv);

  const mpi::Session session;
  const int rank = session.rank(), ranks = session.ranks();
  if (std::max(root, odd_one) >= ranks) {
    return session.refuse(fmt::format("no rank {} among {}", std::max(root, odd_one), ranks));
  }

  const int mine = rank == odd_one ? value : (rank + 1) * (rank + 1);
  const std::vector<int> all = gather(mine, root, ranks);
  session.print_in_order(rank == root ? lines_of_root(all, root) : "");

  std::vector<int> expected, expected_lists;
  for (int i = 0; i < ranks; ++i) {
    expected.push_back(i == odd_one ? value : (i + 1) * (i + 1));
    expected_lists.insert(expected_lists.end(), static_cast<std::size_t>(i), i);
  }
  const std::vector<int> nothing(all.size(), absent);
  const bool others_have_nothing = collective::everywhere(rank == root || all == nothing);
  const bool all_have_it = collective::everywhere(gather_everywhere(mine, ranks) == expected);
  const bool by_hand = gather_by_hand::right(mine, root, expected);

  // Rank r contributes r times its number: rank 0 nothing, rank 4 four of them.
  const std::vector<int> lists = gather_lists(std::vector<int>(static_cast<std::size_t>(rank), rank), root, session);
  int dealt = absent;
  CHECK_MPI(MPI_Scatter(all.data(), 1, MPI_INT, &dealt, 1, MPI_INT, root, MPI_COMM_WORLD));
  const bool way_back = collective::everywhere(dealt == mine);

  cookbook::Checks checks;
  const std::vector<int> list_at_root = list_of(root, all), lists_at_root = list_of(root, lists);
  if (rank == 0) {
    checks.equal("gathered on the root", list_at_root, expected);
    checks.that("the other ranks have received nothing", others_have_nothing);
    checks.that("MPI_Scatter brings each number back", way_back);
    checks.that("the same by messages: one by one, all at once, round a ring", by_hand);
    checks.that("MPI_Allgather gives the list to all", all_have_it);
    checks.equal("MPI_Gatherv of lists", lists_at_root, expected_lists);
  }
  gather_by_hand::measure(root, up_to, session, checks);
  return session.exit_code(checks);
}

// Gather
//
// Each of five ranks has a number, the square of (rank + 1), and one of them wants all, in the order of the ranks. If
// it receives from whoever comes first, they have another order; if it names each source, or calls MPI_Gather, they are
// right. MPI_Allgather gives the list to all ranks, and MPI_Gatherv collects lists of different lengths, which the root
// must know beforehand.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_gather/mpi_gather.cpp common/cookbook/*.cpp -lfmt -o mpi_gather
// Run:     mpirun -n 5 mpi_gather [--root N]

#include <numeric>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

constexpr int tag = 0, any_tag = 1, turn_tag = 2;  // no receive takes a message that another function has sent

/// Called by all ranks, as all functions here. -1: nothing has come to this place.
std::vector<int> gather(int mine, int root, int ranks) {
  std::vector<int> numbers(ranks, -1);
  MPI_CHECK(MPI_Gather(&mine, 1, MPI_INT, numbers.data(), 1, MPI_INT, root, MPI_COMM_WORLD));
  return numbers;
}

std::vector<int> all_gather(int mine, int ranks) {
  std::vector<int> numbers(ranks, -1);
  MPI_CHECK(MPI_Allgather(&mine, 1, MPI_INT, numbers.data(), 1, MPI_INT, MPI_COMM_WORLD));
  return numbers;
}

/// The lists of all ranks one after another, on the root; nothing on the others.
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

/// By hand, each number to the place of its rank.
std::vector<int> receive_by_rank(int mine, int root, const mpi::Environment& world) {
  if (world.rank() != root) MPI_CHECK(MPI_Send(&mine, 1, MPI_INT, root, tag, MPI_COMM_WORLD));
  std::vector<int> numbers(world.size(), mine);
  for (int i = 0; world.rank() == root && i < world.size(); ++i) {
    if (i != root) MPI_CHECK(MPI_Recv(&numbers[i], 1, MPI_INT, i, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  return numbers;
}

/// By hand, from whoever comes first: the rank before the root, then the one before that, and so on. Each waits until
/// the other one's number has been received, so that every run has this order.
std::vector<int> receive_from_any(int mine, int root, const mpi::Environment& world) {
  std::vector<int> received{mine};
  const int ranks = world.size(), next = (world.rank() + 1) % ranks, previous = (world.rank() + ranks - 1) % ranks;
  if (world.rank() != root) {
    if (next != root) MPI_CHECK(MPI_Recv(nullptr, 0, MPI_INT, next, turn_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_CHECK(MPI_Ssend(&mine, 1, MPI_INT, root, any_tag, MPI_COMM_WORLD));  // returns when the root is receiving it
    if (previous != root) MPI_CHECK(MPI_Send(nullptr, 0, MPI_INT, previous, turn_tag, MPI_COMM_WORLD));
    return received;
  }
  for (int i = 1; i < ranks; ++i) {
    int number = 0;
    MPI_CHECK(MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, any_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    received.push_back(number);
  }
  return received;
}

}  // namespace

int main(int argc, char** argv) {
  int root = 0;
  cookbook::Options options("Collect a value from each rank");
  options.add("root", root, "the rank that collects", 0, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  if (root >= ranks) return world.usage_error(fmt::format("--root {}: there are only {} ranks", root, ranks));
  const auto print = [&](int who, std::string_view call, const std::vector<int>& numbers) {
    world.print_in_order(rank == who ? fmt::format("rank {} after {:<24}{}", who, call, numbers) : "");
  };

  const int mine = (rank + 1) * (rank + 1), other = (root + 1) % ranks;
  print(root, "MPI_Recv from any rank", receive_from_any(mine, root, world));
  print(root, "MPI_Recv from each rank", receive_by_rank(mine, root, world));

  const std::vector<int> gathered = gather(mine, root, ranks), gathered_by_all = all_gather(mine, ranks);
  print(root, "MPI_Gather", gathered);
  print(other, "MPI_Gather", gathered);
  print(other, "MPI_Allgather", gathered_by_all);

  // Each rank has a list that holds its number as many times: rank 0 has {}, rank 1 has {1}, rank 2 has {2, 2}.
  const std::vector<int> lists = gather_lists(std::vector<int>(rank, rank), root, world);
  print(root, "MPI_Gatherv", lists);

  std::vector<int> squares, all_lists;
  for (int from = 0; from < ranks; ++from) {
    squares.push_back((from + 1) * (from + 1));
    all_lists.insert(all_lists.end(), from, from);
  }
  const long have_numbers = mpi::sum_over_ranks(gathered == squares),
             have_numbers_too = mpi::sum_over_ranks(gathered_by_all == squares),
             have_lists = mpi::sum_over_ranks(lists == all_lists);
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("ranks that have all numbers after MPI_Gather", have_numbers, 1);
    checks.equal("ranks that have all numbers after MPI_Allgather", have_numbers_too, ranks);
    checks.equal("ranks that have all lists after MPI_Gatherv", have_lists, 1);
  }
  return world.exit_code(checks);
}

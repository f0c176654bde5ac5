// Gather
//
// Each of five ranks has a number, the square of (rank + 1). If the root receives from any rank, the numbers come in
// the order of the messages. MPI_Gather collects them in the order of the ranks, whichever comes first. MPI_Allgather
// gives the collection to all ranks, and MPI_Gatherv collects lists of different lengths, which the root must know
// beforehand.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_gather/mpi_gather.cpp common/cookbook/*.cpp -lfmt -o mpi_gather
// Run:     mpirun -n 5 mpi_gather [--root N] [--odd-one N]

#include <chrono>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

/// By hand: the root has its own number, and receives the others from any rank. The highest rank sends first here, then
/// the next lower one, each when the one before has been received, so that every run has this order. Called by all.
std::vector<int> receive_from_any(int mine, int root, const mpi::Environment& world) {
  if (world.rank() == root) {
    std::vector<int> received{mine};
    for (int i = 1; i < world.size(); ++i) {
      int number = 0;
      MPI_CHECK(MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      received.push_back(number);
      MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));  // only now does the next rank send
    }
    return received;
  }
  for (int turn = world.size() - 1; turn >= 0; --turn) {
    if (turn == root) continue;
    if (world.rank() == turn) MPI_CHECK(MPI_Send(&mine, 1, MPI_INT, root, 0, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  }
  return {};
}

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
  const std::vector<int> from_any = receive_from_any(mine, root, world);
  std::this_thread::sleep_for(std::chrono::milliseconds(20 * (ranks - 1 - rank)));  // the highest rank is first again
  std::vector<int> on_root(ranks, -1), on_all(ranks, -1);
  MPI_CHECK(MPI_Gather(&mine, 1, MPI_INT, on_root.data(), 1, MPI_INT, root, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Allgather(&mine, 1, MPI_INT, on_all.data(), 1, MPI_INT, MPI_COMM_WORLD));

  // Each rank has a list that holds its number as many times: rank 0 has {}, rank 1 has {1}, rank 2 has {2, 2}.
  const std::vector<int> lists = gather_lists(std::vector<int>(rank, rank), root, world);

  const auto print = [&](int who, std::string_view call, const std::vector<int>& numbers) {
    world.print_in_order(rank == who ? fmt::format("rank {} after {:<23}{}", who, call, numbers) : "");
  };
  const int other = (root + 1) % ranks;
  print(root, "MPI_Recv from any rank", from_any);
  print(root, "MPI_Gather", on_root);
  if (other != root) print(other, "MPI_Gather", on_root);
  if (other != root) print(other, "MPI_Allgather", on_all);
  print(root, "MPI_Gatherv", lists);

  std::vector<int> expected, expected_lists;
  for (int from = 0; from < ranks; ++from) {
    expected.push_back(from == odd_one ? 99 : (from + 1) * (from + 1));
    expected_lists.insert(expected_lists.end(), from, from);
  }
  const std::vector<int> nothing(ranks, -1);
  const long gathered = mpi::sum_over_ranks(on_root == (rank == root ? expected : nothing));
  const long gathered_by_all = mpi::sum_over_ranks(on_all == expected);
  const long lists_gathered = mpi::sum_over_ranks(lists == (rank == root ? expected_lists : std::vector<int>()));
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("ranks that are right after MPI_Gather, MPI_Allgather, MPI_Gatherv",
                 std::vector{gathered, gathered_by_all, lists_gathered}, {ranks, ranks, ranks});
  }
  return world.exit_code(checks);
}

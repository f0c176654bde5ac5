// All-to-all
//
// Each rank has random numbers from 0 to 99, and each number is to go to the rank of its range. So every rank has a
// piece for every rank, and one call, MPI_Alltoallv, exchanges them all. The pieces have different lengths, which only
// their senders know, so an exchange of the lengths comes first, by MPI_Alltoall. The program prints what each rank
// sends and receives in both, and then the numbers rank by rank: they are sorted over all ranks.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_alltoall/mpi_alltoall.cpp common/cookbook/*.cpp -lfmt -o mpi_alltoall
// Run:     mpirun -n 3 mpi_alltoall [--numbers N]

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "exchange_tables.hpp"

namespace {

/// Pieces of these lengths, one for each rank or from each rank, one after another in `numbers`.
struct Pieces {
  explicit Pieces(std::vector<int> lengths_) : lengths(std::move(lengths_)), starts(lengths.size()) {
    std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), 0);  // each starts where the one before ends
    numbers.resize(starts.back() + lengths.back());
  }
  std::vector<int> piece(int i) const {
    const auto begin = numbers.begin() + starts[i];
    return {begin, begin + lengths[i]};
  }
  std::vector<int> lengths, starts, numbers;
};

/// Sends piece j to rank j, for all j, and returns what has come: piece i is from rank i. Called by all ranks.
Pieces exchange(const Pieces& sent) {
  std::vector<int> lengths(sent.lengths.size());  // of the pieces that are to come, each from the rank that knows it
  MPI_CHECK(MPI_Alltoall(sent.lengths.data(), 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD));
  Pieces received(lengths);
  MPI_CHECK(MPI_Alltoallv(sent.numbers.data(), sent.lengths.data(), sent.starts.data(), MPI_INT,
                          received.numbers.data(), received.lengths.data(), received.starts.data(), MPI_INT,
                          MPI_COMM_WORLD));
  return received;
}

/// The rank in whose range the number is: the ranks share the numbers from 0 to 99 in equal parts.
int rank_of(int number, int ranks) { return number * ranks / 100; }

/// `count` random numbers from 0 to 99, as pieces for the ranks in whose ranges they are.
Pieces random_pieces(int count, int rank, int ranks) {
  std::vector<int> numbers(count), lengths(ranks);
  std::mt19937 random(rank + 1);
  for (int& number : numbers) {
    number = random() % 100;
    ++lengths[rank_of(number, ranks)];
  }
  std::sort(numbers.begin(), numbers.end());  // now those for the same rank are side by side, in the order of the ranks
  Pieces pieces(lengths);
  pieces.numbers = std::move(numbers);
  return pieces;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 4;
  cookbook::Options options("Exchange pieces of data between all ranks");
  options.add("numbers", count, "random numbers that each rank has", 0, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();

  const Pieces sent = random_pieces(count, rank, ranks), received = exchange(sent);
  print_tables(sent, received, world);

  std::vector<int> sorted = received.numbers;
  std::sort(sorted.begin(), sorted.end());
  const std::vector<std::string> all_sorted = world.gather(text(sorted));
  if (rank == 0) cookbook::println("after each rank has sorted: {}", fmt::join(all_sorted, " | "));

  long in_range = 0, as_sent = 0;
  for (int i = 0; i < ranks; ++i) {
    as_sent += received.piece(i) == random_pieces(count, i, ranks).piece(rank);  // all know its seed, i + 1
  }
  for (const int number : received.numbers) in_range += rank_of(number, ranks) == rank;
  const long all_in_range = mpi::sum_over_ranks(in_range), all_as_sent = mpi::sum_over_ranks(as_sent);
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("numbers that are on the rank of their range", all_in_range, 1L * ranks * count);
    checks.equal("pieces that are as their senders made them", all_as_sent, 1L * ranks * ranks);
  }
  return world.exit_code(checks);
}

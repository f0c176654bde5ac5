// All-to-all
//
// Every rank has a piece for every rank. First a piece is one number: rank i sends 10 i + j to rank j, so a number says
// where it comes from and where it goes. Then each rank has random numbers, and rank j is to get those of its range.
// Now the pieces have different lengths, which only their senders know, so the ranks exchange the lengths first. This
// is how data that is spread over ranks is sorted, grouped or joined.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_alltoall/mpi_alltoall.cpp common/cookbook/*.cpp -lfmt -o mpi_alltoall
// Run:     mpirun -n 5 mpi_alltoall [--numbers N]

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

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
  pieces.numbers = numbers;
  return pieces;
}

std::string text(const Pieces& pieces) {
  std::string all;
  for (int i = 0; i < static_cast<int>(pieces.lengths.size()); ++i) {
    const std::vector<int> piece = pieces.piece(i);
    all += (i > 0 ? " | " : "") + (piece.empty() ? "-" : fmt::format("{}", fmt::join(piece, " ")));
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 6;
  cookbook::Options options("Exchange pieces between all ranks");
  options.add("numbers", count, "random numbers that each rank has", 0, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();

  if (rank == 0) cookbook::println("pieces of one number: rank i sends 10 i + j to rank j");
  Pieces row(std::vector<int>(ranks, 1)), column = row;
  std::iota(row.numbers.begin(), row.numbers.end(), 10 * rank);
  MPI_CHECK(MPI_Alltoall(row.numbers.data(), 1, MPI_INT, column.numbers.data(), 1, MPI_INT, MPI_COMM_WORLD));
  world.print_in_order(fmt::format("rank {} sends {}, receives {}", rank, text(row), text(column)));

  if (rank == 0) cookbook::println("pieces of different lengths: rank j gets the numbers of its range");
  const Pieces sent = random_pieces(count, rank, ranks), received = exchange(sent);
  world.print_in_order(fmt::format("rank {} sends {}, receives {}", rank, text(sent), text(received)));

  long right = 0, in_range = 0, as_sent = 0;
  for (int i = 0; i < ranks; ++i) {
    right += column.numbers[i] == 10 * i + rank;
    as_sent += received.piece(i) == random_pieces(count, i, ranks).piece(rank);  // all know its seed, i + 1
  }
  for (const int number : received.numbers) in_range += rank_of(number, ranks) == rank;
  const long all_right = mpi::sum_over_ranks(right), all_in_range = mpi::sum_over_ranks(in_range);
  const long all_as_sent = mpi::sum_over_ranks(as_sent);
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("pieces of one number that are where they belong", all_right, 1L * ranks * ranks);
    checks.equal("random numbers that are on the rank of their range", all_in_range, 1L * ranks * count);
    checks.equal("pieces of random numbers that have come as piece i from rank i", all_as_sent, 1L * ranks * ranks);
  }
  return world.exit_code(checks);
}

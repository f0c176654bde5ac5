// Reduce
//
// Each of three ranks has an array, (rank + 1) * [0, 1, 2]. MPI_Reduce adds up the arrays, element by element, and
// leaves the sum on one rank; MPI_Allreduce leaves it on all of them. Beside it stands what an all-reduce can do
// inside: pieces of the arrays go round the ranks. Then another operator of MPI finds the largest of the ranks'
// numbers, and last an operator of the program's own puts the ranks' digits one after another.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_reduce/mpi_reduce.cpp common/cookbook/*.cpp -lfmt -o mpi_reduce
// Run:     mpirun -n 3 mpi_reduce [--length N] [--root N] [--odd-one N]

#include <cstdint>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "digits.hpp"
#include "ring_all_reduce.hpp"

namespace {

/// `factor` * [0, 1, 2, ...].
Numbers multiples(int factor, int length) {
  Numbers numbers;
  for (int i = 0; i < length; ++i) numbers.push_back(factor * i);
  return numbers;
}

/// The numbers without decimals, which they do not have here.
std::string text_of(const Numbers& numbers) {
  return fmt::format("{}", std::vector<long>(numbers.begin(), numbers.end()));
}

/// A number, and the rank that has it: the layout of MPI's type MPI_2INT.
struct Ranked {
  int number, rank;
};

}  // namespace

int main(int argc, char** argv) {
  int length = 3, root = 0, odd_one = -1;
  cookbook::Options options("Combine the arrays of all ranks");
  options.add("length", length, "length of each rank's array", 1, 1000);
  options.add("root", root, "the rank that gets the sum", 0, 1'000'000);
  options.add("odd-one", odd_one, "a rank that claims to have one number more, or -1 for none", -1, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  if (root >= ranks) return world.usage_error(fmt::format("--root {}: there are only {} ranks", root, ranks));
  // MPI does not compare the lengths, so the program does.
  const auto [shortest, longest] = mpi::minmax_over_ranks(rank == odd_one ? length + 1 : length);
  if (shortest < longest) return world.usage_error("the ranks' arrays differ in length");

  const Numbers mine = multiples(rank + 1, length);
  Numbers sum(mine.size(), 0), sum_everywhere(mine.size()), sum_by_ring(mine.size());
  MPI_CHECK(MPI_Reduce(mine.data(), sum.data(), length, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Allreduce(mine.data(), sum_everywhere.data(), length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  world.print_in_order(fmt::format("rank {} has {}, and after MPI_Reduce {}", rank, text_of(mine), text_of(sum)));
  const long sent = mpi::sum_over_ranks(ring_all_reduce(mine, sum_by_ring, rank, ranks));

  const Ranked number = {3 * rank % 5, rank};
  Ranked largest = {};  // combined by another operator; of several ranks that have the largest number, the lowest
  MPI_CHECK(MPI_Reduce(&number, &largest, 1, MPI_2INT, MPI_MAXLOC, 0, MPI_COMM_WORLD));
  world.print_in_order(fmt::format("rank {} has the number {}", rank, number.number));

  MPI_Op in_order;
  MPI_CHECK(MPI_Op_create(append, 0, &in_order));  // 0: not commutative, so MPI keeps the order of the ranks
  const Digits digit = of_rank(rank);
  Digits digits = {};
  MPI_Datatype type = make_digits_type();
  MPI_CHECK(MPI_Allreduce(&digit, &digits, 1, type, in_order, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Type_free(&type));
  MPI_CHECK(MPI_Op_free(&in_order));

  const Numbers expected = multiples(ranks * (ranks + 1) / 2, length);
  const Numbers wanted = rank == root ? expected : multiples(0, length);
  const long right = mpi::sum_over_ranks(sum == wanted);  // true counts as 1
  const long right_everywhere = mpi::sum_over_ranks(sum_everywhere == expected);
  const long right_by_ring = mpi::sum_over_ranks(sum_by_ring == expected);
  Ranked expected_largest = {-1, -1};
  std::uint64_t expected_digits = 0;
  for (int i = 0; i < ranks; ++i) {
    if (3 * i % 5 > expected_largest.number) expected_largest = {3 * i % 5, i};
    expected_digits = 10 * expected_digits + of_rank(i).number;
  }
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("ranks that have the sum, or zeros if they are not the root", right, ranks);
    checks.equal("ranks that have the sum after MPI_Allreduce", right_everywhere, ranks);
    checks.equal("ranks that have the sum after the all-reduce in a ring", right_by_ring, ranks);
    checks.equal("numbers that all ranks have sent in the ring", sent, 2L * (ranks - 1) * length);
    checks.equal("the largest number, and the rank that has it", std::vector{largest.number, largest.rank},
                 std::vector{expected_largest.number, expected_largest.rank});
    checks.equal("digits of all ranks, in the order of the ranks", digits.number, expected_digits);
  }
  return world.exit_code(checks);
}

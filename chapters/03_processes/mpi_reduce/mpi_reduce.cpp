// Reduce
//
// Each of three ranks has a digit, 6, 3 or 5, in each of 10000 elements, and an operator of the program's own puts the
// digits one after another: first MPI is told that the order counts, then that it does not. Then each rank has an
// array, (rank + 1) * [0, 1, 2]. MPI_Reduce adds up the arrays, element by element, and leaves the sum on one rank;
// MPI_Allreduce leaves it on all of them.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_reduce/mpi_reduce.cpp common/cookbook/*.cpp -lfmt -o mpi_reduce
// Run:     mpirun -n 3 mpi_reduce [--length N] [--root N]

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "digits.hpp"

namespace {

/// Puts the ranks' digits one after another, in each of 10000 elements; all ranks get the result. `commutative` is what
/// MPI is told of the operator: 0 if the order counts, 1 if it does not. One element might come out right by chance.
std::vector<Digits> digits_of_all(int rank, int commutative) {
  const std::vector<Digits> mine(10'000, digits_of(rank));
  std::vector<Digits> all(mine.size());
  MPI_Datatype type = make_digits_type();
  MPI_Op op;
  MPI_CHECK(MPI_Op_create(append, commutative, &op));
  MPI_CHECK(MPI_Allreduce(mine.data(), all.data(), static_cast<int>(all.size()), type, op, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Op_free(&op));
  MPI_CHECK(MPI_Type_free(&type));
  return all;
}

/// How many neighbours are alike, such as "3334 times 635, 6666 times 356". Each number has `ranks` digits.
std::string counted(const std::vector<Digits>& all, int ranks) {
  std::string text;
  for (auto first = all.begin(), end = first; first != all.end(); first = end) {
    end = std::find_if(first, all.end(), [&](const Digits& one) { return one.number != first->number; });
    text += fmt::format("{}{} times {:0{}}", text.empty() ? "" : ", ", end - first, first->number, ranks);
  }
  return text;
}

/// `factor` * [0, 1, 2, ...].
std::vector<long> multiples(int factor, int length) {
  std::vector<long> numbers;
  for (long i = 0; i < length; ++i) numbers.push_back(factor * i);
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  int length = 3, root = 0;
  cookbook::Options options("Combine the arrays of all ranks");
  options.add("length", length, "length of each rank's array", 1, 1000);
  options.add("root", root, "the rank that gets the sum", 0, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  if (root >= ranks) return world.usage_error(fmt::format("--root {}: there are only {} ranks", root, ranks));
  if (ranks > max_digits) {
    return world.usage_error(fmt::format("{} ranks: at most {}, one digit each", ranks, max_digits));
  }

  const std::vector<Digits> in_order = digits_of_all(rank, 0), in_any_order = digits_of_all(rank, 1);
  Digits right = {0, 1};
  std::vector<int> digits;
  for (int i = 0; i < ranks; ++i) {
    digits.push_back(number_of(i));
    right = {10 * right.number + number_of(i), 10 * right.scale};
  }
  if (rank == 0) {
    cookbook::println("the digits {} of the ranks, put one after another in {} elements:", digits, in_order.size());
    cookbook::println("MPI is told that the order counts          {}", counted(in_order, ranks));
    cookbook::println("MPI is told that the order does not count  {}", counted(in_any_order, ranks));
  }

  const std::vector<long> mine = multiples(rank + 1, length);
  std::vector<long> sum(length, 0), sum_everywhere(length, 0);
  MPI_CHECK(MPI_Reduce(mine.data(), sum.data(), length, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Allreduce(mine.data(), sum_everywhere.data(), length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  world.print_in_order(
      fmt::format("rank {} has {}, after MPI_Reduce {}, after MPI_Allreduce {}", rank, mine, sum, sum_everywhere));

  const std::vector<long> expected = multiples(ranks * (ranks + 1) / 2, length), nothing(length, 0);
  const long right_sum = mpi::sum_over_ranks(sum == (rank == root ? expected : nothing));
  const long right_everywhere = mpi::sum_over_ranks(sum_everywhere == expected);
  const auto is_right = [&](const Digits& one) { return one == right; };
  const long right_digits = mpi::sum_over_ranks(std::all_of(in_order.begin(), in_order.end(), is_right));
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("ranks that are right after MPI_Reduce, MPI_Allreduce, digits in order",
                 std::vector{right_sum, right_everywhere, right_digits}, {ranks, ranks, ranks});
  }
  return world.exit_code(checks);
}

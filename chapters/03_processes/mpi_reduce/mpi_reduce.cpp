// Reduce
//
// Each of three ranks has an array, (rank + 1) * [0, 1, 2]. MPI_Reduce adds up the arrays, element by element, and
// leaves the sum on one rank; MPI_Allreduce leaves it on all of them. Then each operator of MPI combines the numbers 6,
// 3 and 5, and last an operator of the program's own puts them one after another, in the order of the ranks.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_reduce/mpi_reduce.cpp common/cookbook/*.cpp -lfmt -o mpi_reduce
// Run:     mpirun -n 3 mpi_reduce [--length N] [--root N] [--longer N]

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "digits.hpp"

namespace {

/// `factor` * [0, 1, 2, ...].
std::vector<long> multiples(int factor, int length) {
  std::vector<long> numbers;
  for (long i = 0; i < length; ++i) numbers.push_back(factor * i);
  return numbers;
}

/// Combines the ranks' numbers by all operators of MPI. Returns what rank 0 gets of each, as text.
std::string by_all_operators(int rank) {
  struct Operator {
    std::string_view name;
    MPI_Op op;
  };
  const int mine = number_of(rank);
  std::string text;
  const Operator operators[] = {
      {"MPI_SUM", MPI_SUM},     {"MPI_PROD", MPI_PROD}, {"MPI_MAX", MPI_MAX},   {"MPI_MIN", MPI_MIN},
      {"\nMPI_LAND", MPI_LAND}, {"MPI_LOR", MPI_LOR},   {"MPI_LXOR", MPI_LXOR}, {"\nMPI_BAND", MPI_BAND},
      {"MPI_BOR", MPI_BOR},     {"MPI_BXOR", MPI_BXOR},
  };
  for (const auto& [name, op] : operators) {
    int result = 0;
    MPI_CHECK(MPI_Reduce(&mine, &result, 1, MPI_INT, op, 0, MPI_COMM_WORLD));
    text += fmt::format("{}{} {}", text.empty() || name[0] == '\n' ? "" : ", ", name, result);
  }
  const struct {
    int number, rank;  // the layout of MPI's type MPI_2INT
  } ranked = {mine, rank};
  auto largest = ranked, smallest = ranked;
  MPI_CHECK(MPI_Reduce(&ranked, &largest, 1, MPI_2INT, MPI_MAXLOC, 0, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Reduce(&ranked, &smallest, 1, MPI_2INT, MPI_MINLOC, 0, MPI_COMM_WORLD));
  return text + fmt::format("\nMPI_MAXLOC {} of rank {}, MPI_MINLOC {} of rank {}", largest.number, largest.rank,
                            smallest.number, smallest.rank);
}

/// Combines the ranks' numbers by an operator of the program's own; all ranks get the result. Each number stands in an
/// array many times over: MPI may keep the order of a short array by chance.
std::vector<Digits> by_own_operator(int rank) {
  const std::vector<Digits> mine(10'000, digits_of(rank));
  std::vector<Digits> all(mine.size());
  MPI_Datatype type = make_digits_type();
  MPI_Op in_order;
  MPI_CHECK(MPI_Op_create(append, 0, &in_order));  // 0: not commutative, so MPI keeps the order of the ranks
  MPI_CHECK(MPI_Allreduce(mine.data(), all.data(), static_cast<int>(all.size()), type, in_order, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Op_free(&in_order));
  MPI_CHECK(MPI_Type_free(&type));
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  int length = 3, root = 0, longer = -1;
  cookbook::Options options("Combine the arrays of all ranks");
  options.add("length", length, "length of each rank's array", 1, 1000);
  options.add("root", root, "the rank that gets the sum", 0, 1'000'000);
  options.add("longer", longer, "a rank that claims to have one number more, or -1 for none", -1, 1'000'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  if (root >= ranks) return world.usage_error(fmt::format("--root {}: there are only {} ranks", root, ranks));
  if (ranks > max_digits) {
    return world.usage_error(fmt::format("{} ranks: at most {}, one digit each", ranks, max_digits));
  }
  // MPI does not compare the lengths, so the program does.
  const auto [shortest, longest] = mpi::minmax_over_ranks(rank == longer ? length + 1 : length);
  if (shortest < longest) return world.usage_error("the ranks' arrays differ in length");

  const std::vector<long> mine = multiples(rank + 1, length);
  std::vector<long> sum(length, 0), sum_everywhere(length, 0);
  MPI_CHECK(MPI_Reduce(mine.data(), sum.data(), length, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Allreduce(mine.data(), sum_everywhere.data(), length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  world.print_in_order(fmt::format("rank {} has {} and {}, after MPI_Reduce {}, after MPI_Allreduce {}", rank,
                                   number_of(rank), mine, sum, sum_everywhere));
  const std::string operators = by_all_operators(rank);
  const std::vector<Digits> digits = by_own_operator(rank);

  const std::vector<long> expected = multiples(ranks * (ranks + 1) / 2, length), nothing(length, 0);
  const long right = mpi::sum_over_ranks(sum == (rank == root ? expected : nothing));
  const long right_everywhere = mpi::sum_over_ranks(sum_everywhere == expected);
  Digits in_order = {0, 1};
  for (int i = 0; i < ranks; ++i) in_order = {10 * in_order.number + number_of(i), 10 * in_order.scale};
  const auto is_right = [&](const Digits& one) { return one == in_order; };
  const long right_digits = mpi::sum_over_ranks(std::all_of(digits.begin(), digits.end(), is_right));
  cookbook::Checks checks;
  if (rank == 0) {
    cookbook::println("{}\nappend {}, the first of {} elements", operators, digits.front().number, digits.size());
    checks.equal("ranks that are right after MPI_Reduce, MPI_Allreduce, append",
                 std::vector{right, right_everywhere, right_digits}, {ranks, ranks, ranks});
  }
  return world.exit_code(checks);
}

// Reduce
//
// Each of three ranks has an array, (rank + 1) * [0, 1, 2]. MPI_Reduce adds up the arrays, element by element, and
// leaves the sum on one rank; MPI_Allreduce leaves it on all of them. With --order each rank has a double in each of
// 10000 elements, and the sums are not all the same, since MPI chooses the order in which it adds. An operator of the
// program's own, which puts digits one after another, shows this order; MPI keeps that of the ranks if it is told so.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_reduce/mpi_reduce.cpp common/cookbook/*.cpp -lfmt -o mpi_reduce
// Run:     mpirun -n 3 mpi_reduce [--length N] [--root N] [--order]

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "digits.hpp"

namespace {

/// The sum of the arrays of all ranks, element by element, on the root; zeros on the others.
std::vector<long> sum_on_root(const std::vector<long>& mine, int root) {
  std::vector<long> sum(mine.size());
  const int length = static_cast<int>(mine.size());
  MPI_CHECK(MPI_Reduce(mine.data(), sum.data(), length, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD));
  return sum;
}

/// The same on all ranks.
std::vector<long> sum_on_all(const std::vector<long>& mine) {
  std::vector<long> sum(mine.size());
  const int length = static_cast<int>(mine.size());
  MPI_CHECK(MPI_Allreduce(mine.data(), sum.data(), length, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  return sum;
}

constexpr int elements = 10'000;  // one might come out right by chance

/// The sum of one double per rank, in each of 10000 elements.
std::vector<double> sums_of_doubles(double mine) {
  const std::vector<double> numbers(elements, mine);
  std::vector<double> sums(elements);
  MPI_CHECK(MPI_Allreduce(numbers.data(), sums.data(), elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  return sums;
}

double double_of(int rank) { return std::vector{1.0, 1e16, -1e16, 1.0}[static_cast<std::size_t>(rank % 4)]; }

/// Puts the ranks' digits one after another, in each of 10000 elements; all ranks get the result. `commutative` is what
/// MPI is told of the operator: 0 if the order counts, 1 if it does not.
std::vector<Digits> digits_of_all(int rank, int commutative) {
  const std::vector<Digits> mine(elements, digits_of(rank));
  std::vector<Digits> all(elements);
  MPI_Datatype type = make_digits_type();
  MPI_Op op;
  MPI_CHECK(MPI_Op_create(append, commutative, &op));
  MPI_CHECK(MPI_Allreduce(mine.data(), all.data(), elements, type, op, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Op_free(&op));
  MPI_CHECK(MPI_Type_free(&type));
  return all;
}

/// `factor` * [0, 1, 2, ...].
std::vector<long> multiples(int factor, int length) {
  std::vector<long> numbers;
  for (long i = 0; i < length; ++i) numbers.push_back(factor * i);
  return numbers;
}

/// Prints and checks the sums on the root and on all ranks.
void show_sums(const mpi::Environment& world, int length, int root, cookbook::Checks& checks) {
  const int rank = world.rank(), ranks = world.size();
  const std::vector<long> mine = multiples(rank + 1, length);
  const std::vector<long> sum = sum_on_root(mine, root), sum_everywhere = sum_on_all(mine);
  world.print_in_order(
      fmt::format("rank {} has {}, after MPI_Reduce {}, after MPI_Allreduce {}", rank, mine, sum, sum_everywhere));

  const std::vector<long> expected = multiples(ranks * (ranks + 1) / 2, length), nothing(length, 0);
  const long right_sum = mpi::sum_over_ranks(sum == (rank == root ? expected : nothing));
  const long right_everywhere = mpi::sum_over_ranks(sum_everywhere == expected);
  if (rank != 0) return;
  checks.equal("ranks that are right after MPI_Reduce", right_sum, ranks);
  checks.equal("ranks that are right after MPI_Allreduce", right_everywhere, ranks);
}

/// How many neighbours are alike, such as "3334 times 635, 6666 times 356", where `text` makes a text of an element.
template <typename Element, typename Text>
std::string counted(const std::vector<Element>& all, const Text& text) {
  std::string line;
  for (auto first = all.begin(), end = first; first != all.end(); first = end) {
    end = std::find_if(first, all.end(), [&](const Element& one) { return one != *first; });
    line += fmt::format("{}{} times {}", line.empty() ? "" : ", ", end - first, text(*first));
  }
  return line;
}

/// Prints the order in which MPI combines the ranks' numbers, and checks that it keeps the order where it must.
void show_order(const mpi::Environment& world, cookbook::Checks& checks) {
  const int rank = world.rank(), ranks = world.size();
  const std::vector<double> sums = sums_of_doubles(double_of(rank));
  const std::vector<Digits> in_order = digits_of_all(rank, 0), in_any_order = digits_of_all(rank, 1);
  Digits right = {0, 1};
  std::vector<int> digits;
  std::vector<double> doubles;
  for (int i = 0; i < ranks; ++i) {
    doubles.push_back(double_of(i));
    digits.push_back(number_of(i));
    right = {10 * right.number + number_of(i), 10 * right.scale};
  }
  const long right_digits = mpi::sum_over_ranks(std::count(in_order.begin(), in_order.end(), right) == elements);
  if (rank != 0) return;
  const auto text = [&](const Digits& one) { return fmt::format("{:0{}}", one.number, ranks); };
  cookbook::println("the doubles {} of the ranks, added up in {} elements:", doubles, elements);
  cookbook::println("MPI_SUM                                    {}", counted(sums, fmt::to_string<double>));
  cookbook::println("the digits {} of the ranks, put one after another in {} elements:", digits, elements);
  cookbook::println("MPI is told that the order counts          {}", counted(in_order, text));
  cookbook::println("MPI is told that the order does not count  {}", counted(in_any_order, text));
  checks.equal("ranks with all digits in order, where MPI is told that it counts", right_digits, ranks);
}

}  // namespace

int main(int argc, char** argv) {
  int length = 3, root = 0;
  bool order = false;
  cookbook::Options options("Combine the arrays of all ranks");
  options.add("length", length, "length of each rank's array", 1, 1000);
  options.add("root", root, "the rank that gets the sum", 0, 1'000'000);
  options.add_flag("order", order, "show in which order MPI combines the ranks, in place of the sums");
  options.parse(argc, argv);

  const mpi::Environment world;
  const int ranks = world.size();
  if (root >= ranks) return world.usage_error(fmt::format("--root {}: there are only {} ranks", root, ranks));
  if (ranks > max_digits) {
    return world.usage_error(fmt::format("{} ranks: at most {}, one digit each", ranks, max_digits));
  }
  cookbook::Checks checks;
  if (order) {
    show_order(world, checks);
  } else {
    show_sums(world, length, root, checks);
  }
  return world.exit_code(checks);
}

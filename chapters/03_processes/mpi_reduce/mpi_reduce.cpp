// Reduce
//
// Each of three ranks has an array, (rank + 1) * [0, 1, 2]. A reduction adds them up, element by element, and leaves
// the sum on one rank. Then the other operators of MPI do the same, each beside a plain loop, and one that the program
// defines itself: the product of matrices, where the order counts. MPI_Allreduce leaves the result on all ranks; beside
// it stands the ring that does it by messages. In the pitfall, mpi_reduce_commutative.cpp, the order is left to MPI.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_reduce/mpi_reduce.cpp common/cookbook/*.cpp -lfmt -o mpi_reduce
// Run:     mpirun -n 3 mpi_reduce [--length N] [--root N] [--odd-one N] [--up-to N]

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "all_reduce.hpp"
#include "collective.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "matrix_product.hpp"
#include "mpi_session.hpp"

namespace {

/// `factor` * [0, 1, 2, ...].
std::vector<int> multiples(int factor, int length) {
  std::vector<int> numbers;
  for (int i = 0; i < length; ++i) numbers.push_back(factor * i);
  return numbers;
}

/// The element-wise sum of all ranks' arrays, on the root; zeros elsewhere. Called by all.
std::vector<int> sum_on_root(const std::vector<int>& sent, int root) {
  std::vector<int> received(sent.size(), 0);
  const int length = static_cast<int>(sent.size());
  CHECK_MPI(MPI_Reduce(sent.data(), received.data(), length, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
  return received;
}

void sum_of_arrays(int length, int root, const mpi::Session& session, cookbook::Checks& checks) {
  const int rank = session.rank(), ranks = session.ranks();
  const std::vector<int> sent = multiples(rank + 1, length);
  session.print_in_order(fmt::format("process {} sending {}", rank, sent));
  const std::vector<int> received = sum_on_root(sent, root);
  session.print_in_order(fmt::format("on task {} after Reduce: data = {}", rank, received));

  const std::vector<int> total = multiples(ranks * (ranks + 1) / 2, length), zeros = multiples(0, length);
  const bool right = collective::everywhere(received == (rank == root ? total : zeros));
  const bool unchanged = collective::everywhere(sent == multiples(rank + 1, length));
  if (rank != 0) return;
  checks.that(fmt::format("the root has {} * [0, 1, 2, ...], the others zeros", ranks * (ranks + 1) / 2), right);
  checks.that("what was sent is unchanged", unchanged);
}

using Pair = std::vector<int>;  // of two

/// Each predefined operator, and what it does to two numbers.
void all_operators(const mpi::Session& session, cookbook::Checks& checks) {
  struct Operator {
    const char* name;
    MPI_Op op;
    int (*apply)(int, int);
  };
  const Operator operators[] = {
      {"MPI_MAX", MPI_MAX, [](int a, int b) { return std::max(a, b); }},
      {"MPI_MIN", MPI_MIN, [](int a, int b) { return std::min(a, b); }},
      {"MPI_SUM", MPI_SUM, [](int a, int b) { return a + b; }},
      {"MPI_PROD", MPI_PROD,
       [](int a, int b) { return static_cast<int>(static_cast<unsigned>(a) * static_cast<unsigned>(b)); }},
      {"MPI_LAND", MPI_LAND, [](int a, int b) { return int(a && b); }},
      {"MPI_LOR", MPI_LOR, [](int a, int b) { return int(a || b); }},
      {"MPI_LXOR", MPI_LXOR, [](int a, int b) { return int(!a != !b); }},
      {"MPI_BAND", MPI_BAND, [](int a, int b) { return a & b; }},
      {"MPI_BOR", MPI_BOR, [](int a, int b) { return a | b; }},
      {"MPI_BXOR", MPI_BXOR, [](int a, int b) { return a ^ b; }},
  };
  const auto numbers_of = [](int rank) { return Pair{3 * rank % 5, rank % 8 + 1}; };
  const Pair mine = numbers_of(session.rank());
  session.print_in_order(fmt::format("process {} has {}", session.rank(), mine));
  for (const auto& [name, op, apply] : operators) {
    Pair reduced(2);
    CHECK_MPI(MPI_Reduce(mine.data(), reduced.data(), 2, MPI_INT, op, 0, MPI_COMM_WORLD));
    if (session.rank() != 0) continue;
    Pair expected = numbers_of(0);
    for (int i = 1; i < session.ranks(); ++i) {
      const Pair other = numbers_of(i);
      expected = {apply(expected[0], other[0]), apply(expected[1], other[1])};
    }
    checks.equal(name, reduced, expected);
  }
}

/// The largest or smallest value with the rank that has it; of several the lowest. The arrays have a value that differs
/// from rank to rank, and one that many ranks have.
void where_it_is(const mpi::Session& session, cookbook::Checks& checks) {
  struct ValueAndRank {
    int value, rank;  // the layout that MPI_2INT means
  };
  const auto values_of = [](int rank) { return Pair{3 * rank % 5, rank % 2}; };
  const Pair values = values_of(session.rank());
  const std::array<ValueAndRank, 2> mine = {{{values[0], session.rank()}, {values[1], session.rank()}}};
  for (const bool largest : {true, false}) {
    std::array<ValueAndRank, 2> found{};
    const MPI_Op op = largest ? MPI_MAXLOC : MPI_MINLOC;
    CHECK_MPI(MPI_Reduce(mine.data(), found.data(), 2, MPI_2INT, op, 0, MPI_COMM_WORLD));
    if (session.rank() != 0) continue;
    for (const std::size_t i : {0U, 1U}) {
      Pair expected = {values_of(0)[i], 0};
      for (int rank = 1; rank < session.ranks(); ++rank) {
        const int value = values_of(rank)[i];
        if (largest ? value > expected[0] : value < expected[0]) expected = {value, rank};
      }
      checks.equal(fmt::format("{} of {}: value and rank", largest ? "MPI_MAXLOC" : "MPI_MINLOC",
                               i == 0 ? "3 * rank % 5" : "rank % 2"),
                   Pair{found[i].value, found[i].rank}, expected);
    }
  }
}

/// Multiplies the matrices of all ranks in the order of the ranks, on the root.
void own_operator(int root, const mpi::Session& session, cookbook::Checks& checks) {
  const MPI_Datatype matrix = matrix_product::type();
  MPI_Op op;
  CHECK_MPI(MPI_Op_create(matrix_product::multiply, 0, &op));  // 0: not commutative, MPI keeps the order of the ranks

  const matrix_product::Matrix mine = matrix_product::of_rank(session.rank());
  matrix_product::Matrix all{};
  CHECK_MPI(MPI_Reduce(&mine, &all, 1, matrix, op, root, MPI_COMM_WORLD));
  CHECK_MPI(MPI_Op_free(&op));
  CHECK_MPI(MPI_Bcast(&all, 1, matrix, root, MPI_COMM_WORLD));
  if (session.rank() != 0) return;
  const matrix_product::Matrix expected = matrix_product::of_all(session.ranks());
  checks.equal("1 + 1 / (2 + 1 / (3 + ...)) by matrices", fmt::format("{} / {}", all[0], all[2]),
               fmt::format("{} / {}", expected[0], expected[2]));
}

}  // namespace

int main(int argc, char** argv) {
  int length = 3, root = 0, odd_one = -1;
  std::size_t up_to = 16 << 20;
  cookbook::Options options("Combine the arrays of all ranks");
  options.add("length", length, "length of each rank's array", 1, 1000);
  options.add("root", root, "the rank that gets the sum", 0, 1'000'000);
  options.add("odd-one", odd_one, "a rank whose array is longer by one, or -1 for none", -1, 1'000'000);
  options.add("up-to", up_to, "largest size that is measured, in bytes", 8, 16 << 20);
  options.parse(argc, argv);

  const mpi::Session session;
  if (std::max(root, odd_one) >= session.ranks()) {
    return session.refuse(fmt::format("no rank {} among {}", std::max(root, odd_one), session.ranks()));
  }
  // MPI_Reduce does not compare the lengths; what comes of different ones depends on how it sends.
  const auto [shortest, longest] = collective::extremes(session.rank() == odd_one ? length + 1 : length);
  if (shortest != longest) {
    return session.refuse(fmt::format("the arrays differ in length, from {} to {}", shortest, longest));
  }

  cookbook::Checks checks;
  sum_of_arrays(length, root, session, checks);
  all_operators(session, checks);
  where_it_is(session, checks);
  own_operator(root, session, checks);
  all_reduce::check_and_measure(up_to, session, checks);
  return session.exit_code(checks);
}

// What the ranks print for several numbers of ranks, lengths and roots, beside plain loops.

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "03_processes/again_as_ranks.hpp"
#include "03_processes/mpi_reduce/ring_all_reduce.hpp"
#include "cookbook/mpi.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;
using test_support::run_ranks;

std::string text(long number) { return std::to_string(number); }

/// `factor` * [0, 1, 2, ...], as the program prints it.
std::string multiples(int factor, int length) {
  std::string numbers;
  for (int i = 0; i < length; ++i) numbers += (i > 0 ? ", " : "") + text(factor * i);
  return "[" + numbers + "]";
}

int number_of(int rank) { return std::vector<int>{6, 3, 5, 0}[static_cast<std::size_t>(rank % 4)]; }

std::string digits_of_all(int ranks) {
  std::string digits;
  for (int i = 0; i < ranks; ++i) digits += text(number_of(i));
  return digits;
}

/// What `ranks` ranks have to print of the sums.
std::vector<std::string> expected_lines(int ranks, int length, int root) {
  std::vector<std::string> lines;
  const std::string sum = multiples(ranks * (ranks + 1) / 2, length), all = text(ranks);
  for (int i = 0; i < ranks; ++i) {
    lines.push_back("rank " + text(i) + " has " + multiples(i + 1, length) + ", after MPI_Reduce " +
                    (i == root ? sum : multiples(0, length)) + ", after MPI_Allreduce " + sum);
  }
  lines.push_back("ok    ranks that are right after MPI_Reduce: " + all);
  lines.push_back("ok    ranks that are right after MPI_Allreduce: " + all);
  return lines;
}

/// What they have to print with --order, without the two lines whose order MPI chooses.
std::vector<std::string> expected_lines_of_order(int ranks) {
  const std::vector<std::string> doubles_of = {"1", "1e+16", "-1e+16", "1"};
  std::string digits, doubles;
  for (int i = 0; i < ranks; ++i) {
    digits += (i > 0 ? ", " : "") + text(number_of(i));
    doubles += (i > 0 ? ", " : "") + doubles_of[static_cast<std::size_t>(i % 4)];
  }
  return {"the doubles [" + doubles + "] of the ranks, added up in 10000 elements:",
          "the digits [" + digits + "] of the ranks, put one after another in 10000 elements:",
          "MPI is told that the order counts          10000 times " + digits_of_all(ranks),
          "ok    ranks with all digits in order, where MPI is told that it counts: " + text(ranks)};
}

const std::string of_doubles = "MPI_SUM                                    ";
const std::string any_order = "MPI is told that the order does not count  ";

TEST(mpi_reduce, sums_are_right_for_any_rank_count_length_and_root) {
  struct Case {
    int ranks, length, root;
  };
  for (const auto& [ranks, length, root] : {Case{3, 5, 2}, Case{2, 3, 1}, Case{5, 3, 0}, Case{8, 20, 3}}) {
    const auto result = run_ranks(ranks, "mpi_reduce", {"--length", text(length), "--root", text(root)});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.out, expected_lines(ranks, length, root)) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

TEST(mpi_reduce, digits_are_in_the_order_of_the_ranks_where_it_counts_for_any_rank_count) {
  for (const int ranks : {2, 3, 5, 8}) {
    auto result = run_ranks(ranks, "mpi_reduce", {"--order"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(std::erase_if(result.out, [](const std::string& line) { return line.starts_with(any_order); }), 1U);
    EXPECT_EQ(std::erase_if(result.out, [](const std::string& line) { return line.starts_with(of_doubles); }), 1U);
    EXPECT_EQ(result.out, expected_lines_of_order(ranks)) << result.text();
    EXPECT_TRUE(result.err.empty()) << result.text();
  }
}

/// The results in the line that begins with `start`, and how many elements have each, one entry per piece.
std::vector<std::pair<long, std::string>> pieces(const test_support::Result& result, const std::string& start) {
  const auto found = result.captures("^" + start + "(.*)");
  EXPECT_EQ(found.size(), 1U) << result.text();
  std::istringstream line(found.empty() ? "" : found.front());
  std::vector<std::pair<long, std::string>> all;
  long count = 0;
  for (std::string times, value; line >> count >> times >> value;) {
    if (value.back() == ',') value.pop_back();
    all.emplace_back(count, value);
  }
  return all;
}

/// 1 + 1e16 - 1e16 is 0 or 1, whatever comes first; with the ring of Open MPI 4.1 each piece has its own sum.
TEST(mpi_reduce, a_sum_of_doubles_is_one_of_those_that_an_order_gives) {
  const auto result = run_ranks(3, "mpi_reduce", {"--order"});
  long elements = 0;
  std::set<std::string> sums;
  for (const auto& [count, sum] : pieces(result, of_doubles)) {
    elements += count;
    sums.insert(sum);
  }
  EXPECT_EQ(elements, 10000) << result.text();
#ifdef OPEN_MPI
  EXPECT_THAT(sums, testing::ElementsAre("0", "1")) << result.text();
#else
  EXPECT_THAT(sums, testing::Each(testing::AnyOf("0", "1"))) << result.text();
#endif
}

/// With Open MPI 4.1 each of the pieces of an array is combined in an order of its own.
TEST(mpi_reduce, an_operator_that_is_declared_commutative_combines_all_digits_in_several_orders) {
  for (const int ranks : {2, 3, 4}) {
    const auto result = run_ranks(ranks, "mpi_reduce", {"--order"});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    std::set<std::string> orders;
    long elements = 0;
    for (const auto& [count, digits] : pieces(result, any_order)) {
      const std::string all = digits_of_all(ranks);
      EXPECT_TRUE(std::is_permutation(digits.begin(), digits.end(), all.begin(), all.end())) << result.text();
      orders.insert(digits);
      elements += count;
    }
    EXPECT_EQ(elements, 10000) << result.text();
    EXPECT_GT(orders.size(), 1U) << result.text();
#ifdef OPEN_MPI  // exercise 1
    if (ranks == 2) {
      EXPECT_TRUE(result.has_line(any_order + "5000 times 63, 5000 times 36")) << result.text();
    }
#endif
  }
}

/// The ring in this process's ranks: each rank has rank + 1 times 0, 1, 2 and so on.
void expect_ring_right(int rank, int ranks) {
  for (const std::size_t length : {1U, 3U, 8U, 21U}) {  // pieces: none at all, one number each, of different lengths
    Numbers mine(length), expected(length), total(length, -1);
    for (std::size_t i = 0; i < length; ++i) {
      mine[i] = static_cast<double>(i) * (rank + 1);
      expected[i] = static_cast<double>(i) * ranks * (ranks + 1) / 2;
    }
    ring_all_reduce(mine, total, rank, ranks);
    EXPECT_EQ(total, expected) << length;
  }
}

/// Combines 6, 3, 5, 0, 6, 3 and so on, one number per rank, by every operator of MPI, and compares with plain loops.
void expect_operators_right(int rank, int ranks, MPI_Comm comm) {
  struct Operator {
    MPI_Op op;
    int start;
    int (*combine)(int, int);
  };
  const Operator operators[] = {{MPI_MAX, 0, [](int a, int b) { return std::max(a, b); }},
                                {MPI_MIN, 9, [](int a, int b) { return std::min(a, b); }},
                                {MPI_SUM, 0, [](int a, int b) { return a + b; }},
                                {MPI_PROD, 1, [](int a, int b) { return a * b; }},
                                {MPI_LAND, 1, [](int a, int b) { return int(a && b); }},
                                {MPI_LOR, 0, [](int a, int b) { return int(a || b); }},
                                {MPI_LXOR, 0, [](int a, int b) { return int(!a != !b); }},
                                {MPI_BAND, -1, [](int a, int b) { return a & b; }},
                                {MPI_BOR, 0, [](int a, int b) { return a | b; }},
                                {MPI_BXOR, 0, [](int a, int b) { return a ^ b; }}};
  const int mine = number_of(rank);
  for (const Operator& one : operators) {
    int result = 0, expected = one.start;
    MPI_CHECK(MPI_Allreduce(&mine, &result, 1, MPI_INT, one.op, comm));
    for (int i = 0; i < ranks; ++i) expected = one.combine(expected, number_of(i));
    EXPECT_EQ(result, expected) << "operator " << &one - operators << " with " << ranks << " ranks";
  }
  const int pair[] = {mine, rank};
  int largest[2], smallest[2];
  MPI_CHECK(MPI_Allreduce(pair, largest, 1, MPI_2INT, MPI_MAXLOC, comm));
  MPI_CHECK(MPI_Allreduce(pair, smallest, 1, MPI_2INT, MPI_MINLOC, comm));
  EXPECT_THAT(largest, testing::ElementsAre(6, 0)) << "the lowest of the ranks that have it";
  EXPECT_THAT(smallest, testing::ElementsAreArray(ranks < 4 ? std::vector{3, 1} : std::vector{0, 3}));
}

/// This test starts itself again as eight ranks; they form groups of two ranks, of three, and so on.
TEST(mpi_reduce_mpi_operators, combine_what_plain_loops_combine_for_any_number_of_ranks) {
  if (again_as_ranks(8, "mpi_reduce_test")) return;
  const mpi::Environment world;
  expect_ring_right(world.rank(), world.size());
  for (int ranks = 2; ranks <= world.size(); ++ranks) {  // of one rank, Open MPI 4.1 copies the number as it is
    MPI_Comm comm;
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, world.rank() < ranks ? 0 : MPI_UNDEFINED, world.rank(), &comm));
    if (comm == MPI_COMM_NULL) continue;
    expect_operators_right(world.rank(), ranks, comm);
    MPI_CHECK(MPI_Comm_free(&comm));
  }
}

TEST(mpi_reduce_ring, gives_a_single_rank_its_own_numbers) {
  const Numbers mine = {3, 1, 4};
  Numbers total(mine.size(), -1);
  ring_all_reduce(mine, total, 0, 1);
  EXPECT_EQ(total, mine);
}

TEST(mpi_reduce, one_rank_has_its_own_numbers_without_mpirun_too) {
  const auto result = run("mpi_reduce");
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("rank 0 has [0, 1, 2], after MPI_Reduce [0, 1, 2], after MPI_Allreduce [0, 1, 2]"))
      << result.text();
  const auto order = run("mpi_reduce", {"--order"});
  EXPECT_EQ(order.exit_code, 0) << order.text();
  EXPECT_TRUE(order.has_line(any_order + "10000 times 6")) << order.text();
}

TEST(mpi_reduce, a_root_that_does_not_exist_is_refused) {
  const auto result = run_ranks(2, "mpi_reduce", {"--root", "2"});
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_reduce: --root 2: there are only 2 ranks"));
}

TEST(mpi_reduce, more_ranks_than_a_number_has_digits_are_refused) {
  const auto result = run_ranks(20, "mpi_reduce");
  EXPECT_EQ(result.exit_code, 2) << result.text();
  EXPECT_THAT(result.err, testing::ElementsAre("mpi_reduce: 20 ranks: at most 19, one digit each"));
}

TEST(mpi_reduce, the_bench_has_right_sums_in_all_ways) {
  const auto result = run_ranks(4, "mpi_reduce_bench", {"--up-to", "65536"});
  EXPECT_TRUE(result.has_line("ok    every size, all three ways: every rank has the sum: yes")) << result.text();
  EXPECT_THAT(result.captures("^ *(\\d+ [KM]?i?B), ring"), testing::ElementsAre("8 B", "1 KiB", "64 KiB"))
      << result.text();
}

}  // namespace

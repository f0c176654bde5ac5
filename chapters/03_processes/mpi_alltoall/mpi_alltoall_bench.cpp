// All-to-all, measured
//
// MPI_Alltoall beside messages in steps, and beside MPI_Alltoallv with an exchange of the lengths before it, from 8 B
// for each rank up. Then a large matrix is transposed whose rows are spread over the ranks: packed by hand, or
// described to MPI by types.
//
// Compile: mpicxx -std=c++20 -O3 -march=native -Icommon -Ichapters/03_processes chapters/03_processes/mpi_alltoall/mpi_alltoall_bench.cpp common/cookbook/*.cpp -lfmt -o mpi_alltoall_bench
// Run:     mpirun -n 5 mpi_alltoall_bench [--rows N] [--up-to N]

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "collective_bench.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "exchange_in_steps.hpp"

namespace {

using Numbers = std::vector<std::int64_t>;

/// The ways to exchange, from 8 B for each rank to `up_to` bytes. Returns whether all results were right.
bool compare_ways(const mpi::Environment& world, std::size_t up_to, cookbook::Figures& times) {
  const int rank = world.rank(), ranks = world.size();
  const auto pieces = static_cast<std::size_t>(ranks);
  collective::add_barrier(times);
  bool right = true;
  for (const collective::Size& size : collective::sizes_up_to(up_to)) {
    const std::size_t length = size.bytes / sizeof(std::int64_t);
    const int count = static_cast<int>(length);
    // The random numbers of each rank are known to all, so each can tell what it must receive.
    const auto numbers_of = [&](int other) {
      const auto random = collective::random_numbers(length * pieces, static_cast<unsigned>(other));
      return Numbers(random.begin(), random.end());
    };
    const Numbers sent = numbers_of(rank);
    Numbers received(sent.size()), expected;
    const std::vector<int> lengths(pieces, count);  // for the way in which a rank asks how much will come
    std::vector<int> their_lengths(pieces), starts(pieces);
    for (int i = 0; i < ranks; ++i) starts[i] = i * count;
    for (int from = 0; from < ranks; ++from) {
      const Numbers theirs = numbers_of(from);
      const auto mine = theirs.begin() + static_cast<long>(length) * rank;
      expected.insert(expected.end(), mine, mine + count);
    }
    const std::vector<collective::Form> forms = {
        {"MPI_Alltoall",
         [&] {
           MPI_CHECK(
               MPI_Alltoall(sent.data(), count, MPI_INT64_T, received.data(), count, MPI_INT64_T, MPI_COMM_WORLD));
         }},
        {"lengths and MPI_Alltoallv",
         [&] {
           MPI_CHECK(MPI_Alltoall(lengths.data(), 1, MPI_INT, their_lengths.data(), 1, MPI_INT, MPI_COMM_WORLD));
           MPI_CHECK(MPI_Alltoallv(sent.data(), lengths.data(), starts.data(), MPI_INT64_T, received.data(),
                                   their_lengths.data(), starts.data(), MPI_INT64_T, MPI_COMM_WORLD));
         }},
        {"in steps", [&] { exchange_in_steps(sent, received, rank, ranks); }},
    };
    right &= collective::compare(
        times, forms, size, [&] { std::fill(received.begin(), received.end(), -1); },
        [&] { return received == expected; });
  }
  return right;
}

/// This rank's part of a square matrix: `rows` of its rows.
struct Part {
  Part(std::size_t rows_, int rank, int ranks_)
      : rows(rows_),
        ranks(static_cast<std::size_t>(ranks_)),
        columns(rows * ranks),
        first_row(rows * static_cast<std::size_t>(rank)),
        numbers(rows * columns) {}
  double& at(std::size_t row, std::size_t column) { return numbers[row * columns + column]; }

  std::size_t rows, ranks, columns, first_row;
  std::vector<double> numbers;
};

/// Transposes by packing: the columns that each rank needs as rows are copied one after another, and then exchanged.
class ByPacking {
 public:
  explicit ByPacking(const Part& part) : packed_(part.numbers.size()), received_(part.numbers.size()) {}

  void operator()(Part& from, Part& to) {
    const std::size_t rows = from.rows, block = 16;  // 16 rows at a time, so that cache lines are filled and used whole
    for (std::size_t other = 0; other < from.ranks; ++other) {
      double* piece = packed_.data() + other * rows * rows;
      for (std::size_t first = 0; first < rows; first += block) {
        for (std::size_t column = 0; column < rows; ++column) {
          for (std::size_t row = first; row < std::min(first + block, rows); ++row) {
            piece[column * rows + row] = from.at(row, other * rows + column);
          }
        }
      }
    }
    const int count = static_cast<int>(rows * rows);
    MPI_CHECK(MPI_Alltoall(packed_.data(), count, MPI_DOUBLE, received_.data(), count, MPI_DOUBLE, MPI_COMM_WORLD));
    for (std::size_t other = 0; other < from.ranks; ++other) {
      const double* piece = received_.data() + other * rows * rows;
      for (std::size_t row = 0; row < rows; ++row) std::copy_n(piece + row * rows, rows, &to.at(row, other * rows));
    }
  }

 private:
  std::vector<double> packed_, received_;
};

/// The same without packing: a piece is sent column by column and received row by row, and types tell MPI where its
/// numbers are. MPI_Alltoallw takes a type for each rank, and counts in bytes where its piece begins.
class ByTypes {
 public:
  explicit ByTypes(const Part& part)
      : columns_in_piece_(part.ranks, static_cast<int>(part.rows)), ones_(part.ranks, 1) {
    const int rows = static_cast<int>(part.rows), columns = static_cast<int>(part.columns);
    MPI_Datatype column;
    MPI_CHECK(MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &column));
    MPI_CHECK(MPI_Type_create_resized(column, 0, sizeof(double), &column_));  // the next one begins 8 bytes further on
    MPI_CHECK(MPI_Type_free(&column));
    MPI_CHECK(MPI_Type_vector(rows, rows, columns, MPI_DOUBLE, &block_));
    MPI_CHECK(MPI_Type_commit(&column_));
    MPI_CHECK(MPI_Type_commit(&block_));
    for (int i = 0; i < static_cast<int>(part.ranks); ++i) {
      starts_.push_back(i * rows * static_cast<int>(sizeof(double)));
    }
    columns_.assign(part.ranks, column_);
    blocks_.assign(part.ranks, block_);
  }
  ~ByTypes() {
    MPI_Type_free(&column_);
    MPI_Type_free(&block_);
  }
  ByTypes(const ByTypes&) = delete;
  ByTypes& operator=(const ByTypes&) = delete;

  void operator()(const Part& from, Part& to) const {
    MPI_CHECK(MPI_Alltoallw(from.numbers.data(), columns_in_piece_.data(), starts_.data(), columns_.data(),
                            to.numbers.data(), ones_.data(), starts_.data(), blocks_.data(), MPI_COMM_WORLD));
  }

 private:
  std::vector<int> columns_in_piece_, ones_, starts_;
  MPI_Datatype column_, block_;
  std::vector<MPI_Datatype> columns_, blocks_;
};

/// A matrix with `rows` rows on each rank, transposed in both ways, beside a copy of each rank's part within its
/// memory. Returns whether all results were right.
bool compare_transpositions(const mpi::Environment& world, int rows, cookbook::Figures& rates) {
  Part from(static_cast<std::size_t>(rows), world.rank(), world.size()), to = from;
  for (std::size_t i = 0; i < from.numbers.size(); ++i) {
    from.numbers[i] = static_cast<double>(from.first_row * from.columns + i);  // the number's place in the whole matrix
  }
  ByPacking by_packing(from);
  const ByTypes by_types(from);
  const std::vector<collective::Form> forms = {
      {"packed, MPI_Alltoall", [&] { by_packing(from, to); }},
      {"types, MPI_Alltoallw", [&] { by_types(from, to); }},
  };
  const bool right = collective::all_right(
      forms, [&] { std::fill(to.numbers.begin(), to.numbers.end(), -1); },
      [&] {
        for (std::size_t row = 0; row < to.rows; ++row) {
          for (std::size_t column = 0; column < to.columns; ++column) {
            if (to.at(row, column) != static_cast<double>(column * to.columns + to.first_row + row)) return false;
          }
        }
        return true;
      });

  const collective::Size once{0, "", 1, 7};
  const auto bytes = static_cast<double>(from.columns * from.columns * sizeof(double));
  std::vector<cookbook::Benchmark> ways = {collective::row("copy, no exchange", bytes, once, [&] {
    std::copy(from.numbers.begin(), from.numbers.end(), to.numbers.begin());
    cookbook::do_not_optimize(to.numbers.data());
  })};
  for (const collective::Form& form : forms) ways.push_back(collective::row(form.name, bytes, once, form.run));
  rates.measure(ways, once.rounds);
  rates.percent_of("copy, no exchange", "copy");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  int rows = 400;
  std::size_t up_to = 1 << 20;
  cookbook::Options options("Measure an all-to-all, and the transposition of a matrix");
  options.add("rows", rows, "rows of the matrix on each rank", 1, 1000);
  options.add("up-to", up_to, "largest piece for each rank, in bytes", 8, 16 << 20);
  options.parse(argc, argv);

  const mpi::Environment world;
  cookbook::Figures times("an all-to-all and a barrier", cookbook::cost("us", 1e-6));
  cookbook::Figures rates(fmt::format("transpose {0} x {0} numbers", rows * world.size()), cookbook::rate("GB/s", 1e9));
  const bool right = compare_ways(world, up_to, times);
  const bool transposed = compare_transpositions(world, rows, rates);
  cookbook::Checks checks;
  if (world.rank() == 0) {
    checks.that("all ways, every size: all pieces are where they belong", right);
    checks.that(fmt::format("a matrix of {0} x {0} is transposed in both ways", rows * world.size()), transposed);
    times.print(checks);
    rates.print(checks);
  }
  return world.exit_code(checks);
}

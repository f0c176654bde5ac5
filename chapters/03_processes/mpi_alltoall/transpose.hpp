/// A square matrix is spread over the ranks, some rows on each, and transposed: packed by hand, and by MPI's types.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collective.hpp"
#include "cookbook/figures.hpp"
#include "mpi_session.hpp"

namespace transpose {

/// This rank's part: `rows` rows of `rows * ranks` numbers, one row after another.
struct Part {
  Part(int rows_, int rank_, int ranks_)
      : rows(static_cast<std::size_t>(rows_)),
        ranks(static_cast<std::size_t>(ranks_)),
        columns(rows * ranks),
        first_row(rows * static_cast<std::size_t>(rank_)),
        numbers(rows * columns) {}
  double& at(std::size_t row, std::size_t column) { return numbers[row * columns + column]; }

  std::size_t rows, ranks, columns, first_row;
  std::vector<double> numbers;
};

/// Packs the columns that belong to each rank, transposed, exchanges, and puts what comes where it belongs.
inline void by_packing(Part& from, Part& to, std::vector<double>& packed, std::vector<double>& received) {
  const std::size_t rows = from.rows, tile = 16;
  for (std::size_t other = 0; other < from.ranks; ++other) {
    double* piece = packed.data() + other * rows * rows;
    for (std::size_t first = 0; first < rows; first += tile) {  // 16 rows at a time: 16 numbers are two lines of cache
      const std::size_t last = std::min(first + tile, rows);
      for (std::size_t column = 0; column < rows; ++column) {
        for (std::size_t row = first; row < last; ++row) {
          piece[column * rows + row] = from.at(row, other * rows + column);
        }
      }
    }
  }
  const int count = static_cast<int>(rows * rows);
  CHECK_MPI(MPI_Alltoall(packed.data(), count, MPI_DOUBLE, received.data(), count, MPI_DOUBLE, MPI_COMM_WORLD));
  for (std::size_t other = 0; other < from.ranks; ++other) {
    const double* piece = received.data() + other * rows * rows;
    for (std::size_t row = 0; row < rows; ++row) std::copy_n(piece + row * rows, rows, &to.at(row, other * rows));
  }
}

/// The same without packing: types tell MPI which numbers a piece is made of. A piece is sent column by column and
/// received row by row. MPI_Alltoallw takes a type for each rank, and says in bytes where its piece begins.
class ByTypes {
 public:
  explicit ByTypes(const Part& part) : counts_sent_(part.ranks, static_cast<int>(part.rows)), ones_(part.ranks, 1) {
    const int rows = static_cast<int>(part.rows), columns = static_cast<int>(part.columns);
    MPI_Datatype column;
    CHECK_MPI(MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &column));
    CHECK_MPI(MPI_Type_create_resized(column, 0, sizeof(double), &column_));  // the next one begins 8 bytes further on
    CHECK_MPI(MPI_Type_free(&column));
    CHECK_MPI(MPI_Type_vector(rows, rows, columns, MPI_DOUBLE, &block_));
    CHECK_MPI(MPI_Type_commit(&column_));
    CHECK_MPI(MPI_Type_commit(&block_));
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
    CHECK_MPI(MPI_Alltoallw(from.numbers.data(), counts_sent_.data(), starts_.data(), columns_.data(),
                            to.numbers.data(), ones_.data(), starts_.data(), blocks_.data(), MPI_COMM_WORLD));
  }

 private:
  std::vector<int> counts_sent_, ones_, starts_;
  MPI_Datatype column_, block_;
  std::vector<MPI_Datatype> columns_, blocks_;
};

/// Transposes a matrix with `rows` rows on each rank in both ways. The limit is copying each rank's part to another
/// place of its memory.
inline void check_and_measure(int rows, const mpi::Session& session, cookbook::Checks& checks) {
  Part from(rows, session.rank(), session.ranks()), to = from;
  std::vector<double> packed(from.numbers.size()), received(from.numbers.size());
  for (std::size_t i = 0; i < from.numbers.size(); ++i) {
    from.numbers[i] = static_cast<double>(from.first_row * from.columns + i);  // its place in the whole matrix
  }
  const auto transposed = [&] {
    for (std::size_t row = 0; row < to.rows; ++row) {
      for (std::size_t column = 0; column < to.columns; ++column) {
        if (to.at(row, column) != static_cast<double>(column * to.columns + to.first_row + row)) return false;
      }
    }
    return true;
  };
  const ByTypes by_types(from);
  const std::vector<collective::Form> forms = {
      {"packed, MPI_Alltoall", [&] { by_packing(from, to, packed, received); }},
      {"types, MPI_Alltoallw", [&] { by_types(from, to); }},
  };
  const collective::Size size{0, "", 1, 5};
  const auto bytes = static_cast<double>(from.columns * from.columns * sizeof(double));
  cookbook::Figures rates(fmt::format("transpose {0} x {0}", from.columns), cookbook::rate("GB/s", 1e9));
  const auto copy = [&] {
    std::copy(from.numbers.begin(), from.numbers.end(), to.numbers.begin());
    cookbook::keep(to.numbers.data());
  };
  const bool right = collective::all_right(
      forms, [&] { std::fill(to.numbers.begin(), to.numbers.end(), -1); }, transposed);
  std::vector<cookbook::Row> ways = {collective::row("copy, no exchange", bytes, size, copy)};
  for (const collective::Form& form : forms) ways.push_back(collective::row(form.name, bytes, size, form.run));
  rates.measure(ways, size.rounds);
  rates.percent_of("copy, no exchange", "copy");
  if (session.rank() != 0) return;
  checks.that(fmt::format("a matrix of {0} x {0} transposed, packed and by types", from.columns), right);
  rates.print(checks);
}

}  // namespace transpose

/// Scatter by messages, in three ways, and how long they take beside MPI_Scatter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collective.hpp"
#include "cookbook/figures.hpp"
#include "mpi_session.hpp"

namespace scatter_by_hand {

constexpr int tag = 1;

/// The root sends each rank its piece, `count` values of `list`, and copies its own.
template <typename Value>
void one_by_one(const Value* list, Value* mine, int count, MPI_Datatype type, int root) {
  int rank = 0, ranks = 0;
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  if (rank != root) {
    CHECK_MPI(MPI_Recv(mine, count, type, root, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return;
  }
  for (int to = 0; to < ranks; ++to) {
    const Value* piece = list + static_cast<std::ptrdiff_t>(to) * count;
    if (to != root) CHECK_MPI(MPI_Send(piece, count, type, to, tag, MPI_COMM_WORLD));
    if (to == root) std::copy_n(piece, count, mine);
  }
}

/// The same, but the root begins all sends before it waits for any of them.
template <typename Value>
void all_at_once(const Value* list, Value* mine, int count, MPI_Datatype type, int root) {
  int rank = 0, ranks = 0;
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  if (rank != root) {
    CHECK_MPI(MPI_Recv(mine, count, type, root, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return;
  }
  std::vector<MPI_Request> sends(static_cast<std::size_t>(ranks), MPI_REQUEST_NULL);  // the root's own stays null
  for (int to = 0; to < ranks; ++to) {
    const Value* piece = list + static_cast<std::ptrdiff_t>(to) * count;
    MPI_Request& send = sends[static_cast<std::size_t>(to)];
    if (to != root) CHECK_MPI(MPI_Isend(piece, count, type, to, tag, MPI_COMM_WORLD, &send));
    if (to == root) std::copy_n(piece, count, mine);
  }
  CHECK_MPI(MPI_Waitall(ranks, sends.data(), MPI_STATUSES_IGNORE));
}

/// The root has the pieces of all ranks. It gives half of them to another rank, which deals these out, and deals out
/// the rest in the same way. Places are counted from the root; place `first` has the pieces of `first` to `last - 1`.
template <typename Value>
void tree(const std::vector<Value>& list, Value* mine, int count, MPI_Datatype type, int root) {
  int rank = 0, ranks = 0;
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  const int place = (rank - root + ranks) % ranks;
  std::vector<Value> held(list.size());
  if (place == 0) std::rotate_copy(list.begin(), list.begin() + std::ptrdiff_t(root) * count, list.end(), held.begin());

  int first = 0, last = ranks;
  while (last - first > 1) {
    const int middle = (first + last + 1) / 2, given = (last - middle) * count;
    if (place == first) {
      CHECK_MPI(MPI_Send(held.data() + std::ptrdiff_t(middle - first) * count, given, type, (middle + root) % ranks,
                         tag, MPI_COMM_WORLD));
    } else if (place == middle) {
      held.resize(static_cast<std::size_t>(given));
      CHECK_MPI(MPI_Recv(held.data(), given, type, (first + root) % ranks, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    (place < middle ? last : first) = middle;
  }
  std::copy_n(held.begin(), count, mine);
}

/// Pieces of 8 B and more a rank.
inline void measure(int root, std::size_t up_to, const mpi::Session& session, cookbook::Checks& checks) {
  cookbook::Figures times("a scatter and a barrier, size of a piece", cookbook::cost("us", 1e-6));
  collective::add_barrier(times);
  bool all_right = true;
  for (const collective::Size& size : collective::sizes_up_to(up_to)) {
    const std::size_t length = size.bytes / 8;
    const int count = static_cast<int>(length), ranks = session.ranks();
    const auto rank = static_cast<std::size_t>(session.rank());
    const std::vector<std::uint64_t> list = collective::random_numbers(length * static_cast<std::size_t>(ranks), 1);
    std::vector<std::uint64_t> mine(length);
    const MPI_Datatype type = MPI_UINT64_T;
    const std::vector<collective::Form> forms = {
        {"MPI_Scatter",
         [&] { CHECK_MPI(MPI_Scatter(list.data(), count, type, mine.data(), count, type, root, MPI_COMM_WORLD)); }},
        {"one by one", [&] { one_by_one(list.data(), mine.data(), count, type, root); }},
        {"all at once", [&] { all_at_once(list.data(), mine.data(), count, type, root); }},
        {"tree", [&] { tree(list, mine.data(), count, type, root); }},
    };
    const auto prepare = [&] { std::fill(mine.begin(), mine.end(), 0); };
    const auto right = [&] { return std::equal(mine.begin(), mine.end(), list.data() + rank * length); };
    all_right = collective::compare(times, forms, size, prepare, right) && all_right;
  }
  if (session.rank() != 0) return;
  checks.that("every size, all four ways: each rank has its piece", all_right);
  times.print(checks);
}

}  // namespace scatter_by_hand

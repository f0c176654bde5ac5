/// Gather and all-gather by messages, and how long they take beside MPI_Gather and MPI_Allgather.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "collective.hpp"
#include "cookbook/figures.hpp"
#include "mpi_session.hpp"

namespace gather_by_hand {

constexpr int tag = 1;

/// This rank's part in a gathering: its piece of `count` values, and the room for the pieces of all.
template <typename Value>
struct Part {
  Part(const Value* mine_, Value* all_, std::size_t count_, MPI_Datatype type_)
      : mine(mine_), all(all_), count(static_cast<int>(count_)), type(type_) {
    CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  }
  Value* piece(int of) const { return all + static_cast<std::ptrdiff_t>(of) * count; }
  void send(int to) const { CHECK_MPI(MPI_Send(mine, count, type, to, tag, MPI_COMM_WORLD)); }

  const Value* mine;
  Value* all;
  int count;
  MPI_Datatype type;
  int rank = 0, ranks = 0;
};

/// The root receives the pieces in the order of the ranks.
template <typename Value>
void one_by_one(const Part<Value>& part, int root) {
  if (part.rank != root) return part.send(root);
  for (int from = 0; from < part.ranks; ++from) {
    if (from == root) continue;
    CHECK_MPI(MPI_Recv(part.piece(from), part.count, part.type, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  std::copy_n(part.mine, part.count, part.piece(root));
}

/// The root is ready for all pieces before it waits for any; they may come in any order, each has its place.
template <typename Value>
void all_at_once(const Part<Value>& part, int root) {
  if (part.rank != root) return part.send(root);
  std::vector<MPI_Request> receives;
  for (int from = 0; from < part.ranks; ++from) {
    if (from == root) continue;
    receives.emplace_back();
    CHECK_MPI(MPI_Irecv(part.piece(from), part.count, part.type, from, tag, MPI_COMM_WORLD, &receives.back()));
  }
  std::copy_n(part.mine, part.count, part.piece(root));
  CHECK_MPI(MPI_Waitall(static_cast<int>(receives.size()), receives.data(), MPI_STATUSES_IGNORE));
}

/// All get all pieces. In each step every rank passes on to its right what it has got last from its left, so a piece
/// goes round the ring and all ranks are busy in all steps.
template <typename Value>
void ring(const Part<Value>& part) {
  const int ranks = part.ranks, right = (part.rank + 1) % ranks, left = (part.rank - 1 + ranks) % ranks;
  std::copy_n(part.mine, part.count, part.piece(part.rank));
  for (int step = 0; step + 1 < ranks; ++step) {
    const int passed = (part.rank - step + ranks) % ranks, received = (passed - 1 + ranks) % ranks;
    CHECK_MPI(MPI_Sendrecv(part.piece(passed), part.count, part.type, right, tag, part.piece(received), part.count,
                           part.type, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

/// Whether all three put the numbers where `expected` has them. Called by all; the same answer on all.
inline bool right(int mine, int root, const std::vector<int>& expected) {
  std::vector<int> in_turn(expected.size(), -1), at_once = in_turn, round = in_turn;
  one_by_one(Part(&mine, in_turn.data(), 1, MPI_INT), root);
  all_at_once(Part(&mine, at_once.data(), 1, MPI_INT), root);
  ring(Part(&mine, round.data(), 1, MPI_INT));
  int rank = 0;
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  const bool on_root = in_turn == expected && at_once == expected;
  return collective::everywhere((rank != root || on_root) && round == expected);
}

/// Pieces of 8 B and more a rank.
inline void measure(int root, std::size_t up_to, const mpi::Session& session, cookbook::Checks& checks) {
  cookbook::Figures to_root("a gather and a barrier, size of a piece", cookbook::cost("us", 1e-6));
  cookbook::Figures to_all("an all-gather and a barrier, size of a piece", cookbook::cost("us", 1e-6));
  collective::add_barrier(to_root);
  bool all_right = true;
  for (const collective::Size& size : collective::sizes_up_to(up_to)) {
    const std::size_t length = size.bytes / 8, ranks = static_cast<std::size_t>(session.ranks());
    const auto rank = static_cast<std::ptrdiff_t>(session.rank());
    const std::vector<std::uint64_t> expected = collective::random_numbers(length * ranks, 1);
    const auto first = expected.begin() + rank * static_cast<std::ptrdiff_t>(length);
    const std::vector<std::uint64_t> mine(first, first + static_cast<std::ptrdiff_t>(length));
    std::vector<std::uint64_t> all(expected.size());
    const MPI_Datatype type = MPI_UINT64_T;
    const int count = static_cast<int>(length);
    const Part part(mine.data(), all.data(), length, type);

    const auto gather = [&] {
      CHECK_MPI(MPI_Gather(mine.data(), count, type, all.data(), count, type, root, MPI_COMM_WORLD));
    };
    const auto broadcast = [&] {
      CHECK_MPI(MPI_Bcast(all.data(), static_cast<int>(all.size()), type, root, MPI_COMM_WORLD));
    };
    const auto gather_to_all = [&] {
      CHECK_MPI(MPI_Allgather(mine.data(), count, type, all.data(), count, type, MPI_COMM_WORLD));
    };
    const std::vector<collective::Form> gathers = {
        {"MPI_Gather", gather},
        {"one by one", [&] { one_by_one(part, root); }},
        {"all at once", [&] { all_at_once(part, root); }},
    };
    const std::vector<collective::Form> gathers_to_all = {
        {"MPI_Allgather", gather_to_all},
        {"gather, broadcast",
         [&] {
           gather();
           broadcast();
         }},
        {"ring", [&] { ring(part); }},
    };
    const auto prepare = [&] { std::fill(all.begin(), all.end(), 0); };
    const auto right_on_root = [&] { return rank != root || all == expected; };
    const auto right = [&] { return all == expected; };
    all_right = collective::compare(to_root, gathers, size, prepare, right_on_root) && all_right;
    all_right = collective::compare(to_all, gathers_to_all, size, prepare, right) && all_right;
  }
  if (session.rank() != 0) return;
  checks.that("every size, all six ways: the pieces are complete and in order", all_right);
  to_root.print(checks);
  to_all.print(checks);
}

}  // namespace gather_by_hand

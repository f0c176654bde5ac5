/// An all-reduce by single messages.
#pragma once

#include <vector>

#include "cookbook/mpi.hpp"

using Numbers = std::vector<double>;

/// Adds up the arrays `mine` of all ranks, element by element, and leaves the sum in `total` on all of them. The arrays
/// are cut into as many pieces as there are ranks. In the first half of the steps the pieces go round the ranks, and
/// each rank adds its own numbers; in the second half the finished pieces go round. `total` has the length of `mine`.
/// Called by all.
inline void ring_all_reduce(const Numbers& mine, Numbers& total, int rank, int ranks) {
  const auto start = [&](int piece) {
    return mine.size() * static_cast<std::size_t>(piece) / static_cast<std::size_t>(ranks);
  };
  const auto length = [&](int piece) { return static_cast<int>(start(piece + 1) - start(piece)); };
  const int next = (rank + 1) % ranks, previous = (rank - 1 + ranks) % ranks;
  if (ranks == 1) total = mine;
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    const int out = (rank - step + 2 * ranks) % ranks, in = (out - 1 + ranks) % ranks;
    const Numbers& from = step == 0 ? mine : total;
    MPI_CHECK(MPI_Sendrecv(from.data() + start(out), length(out), MPI_DOUBLE, next, 0, total.data() + start(in),
                           length(in), MPI_DOUBLE, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (step >= ranks - 1) continue;  // the piece that has come is finished
    for (std::size_t i = start(in); i < start(in + 1); ++i) total[i] += mine[i];
  }
}

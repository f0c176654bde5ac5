/// An all-to-all by single messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cookbook/mpi.hpp"

/// `sent` has a piece for each rank, in the order of the ranks and all of one length; `received` gets one from each.
/// In every step, a rank sends to the one that is `step` places further on and receives from the one that is as many
/// places back, so in no step do two ranks send to the same one. Called by all.
inline void exchange_in_steps(const std::vector<std::int64_t>& sent, std::vector<std::int64_t>& received, int rank,
                              int ranks) {
  const int length = static_cast<int>(sent.size()) / ranks;
  std::copy_n(sent.data() + rank * length, length, received.data() + rank * length);  // the piece for itself
  for (int step = 1; step < ranks; ++step) {  // MPI_Sendrecv, so that the ranks do not wait for each other in a circle
    const int to = (rank + step) % ranks, from = (rank - step + ranks) % ranks;
    MPI_CHECK(MPI_Sendrecv(sent.data() + to * length, length, MPI_INT64_T, to, 0, received.data() + from * length,
                           length, MPI_INT64_T, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

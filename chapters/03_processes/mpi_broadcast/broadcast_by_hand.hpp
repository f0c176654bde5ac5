/// A broadcast that is made of messages, along a binomial tree.
#pragma once

#include "cookbook/mpi.hpp"

/// Takes the arguments of MPI_Bcast and does the same: every rank of `comm` calls it, and gets what the root has at
/// `data`. A rank's place is its number counted from the root, which has place 0.
inline void broadcast_by_hand(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  int rank = 0, ranks = 0;
  MPI_CHECK(MPI_Comm_rank(comm, &rank));
  MPI_CHECK(MPI_Comm_size(comm, &ranks));
  const int place = (rank - root + ranks) % ranks;
  for (int have = 1; have < ranks; have *= 2) {  // so far the places 0 to have - 1 have the data
    if (place < have && place + have < ranks) {
      MPI_CHECK(MPI_Send(data, count, type, (rank + have) % ranks, 0, comm));
    } else if (place >= have && place < 2 * have) {
      MPI_CHECK(MPI_Recv(data, count, type, (rank - have + ranks) % ranks, 0, comm, MPI_STATUS_IGNORE));
    }
  }
}

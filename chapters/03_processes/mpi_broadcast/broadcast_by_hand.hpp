/// Broadcasts that are made of messages: by the root alone, and along a binomial tree. Both take the arguments of
/// MPI_Bcast and do the same: every rank of `comm` calls them, and gets what the root has at `data`. (They send by
/// `comm`, so a receive of the caller's may take one of their messages.) They return the round in which this rank got
/// the data, 0 on the root. A rank sends at most one message in a round; the tag of a message is its round.
#pragma once

#include "cookbook/mpi.hpp"

/// The naive form: the root sends to all others, one after another.
inline int broadcast_one_by_one(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  int rank = 0, ranks = 0, round = 0;
  MPI_CHECK(MPI_Comm_rank(comm, &rank));
  MPI_CHECK(MPI_Comm_size(comm, &ranks));
  if (rank != root) {
    MPI_Status status;
    MPI_CHECK(MPI_Recv(data, count, type, root, MPI_ANY_TAG, comm, &status));
    return status.MPI_TAG;
  }
  for (int to = 0; to < ranks; ++to) {
    if (to != root) MPI_CHECK(MPI_Send(data, count, type, to, ++round, comm));
  }
  return 0;
}

/// Whoever has the data sends them on. A rank's place is its number counted from the root, which has place 0.
inline int broadcast_by_tree(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  int rank = 0, ranks = 0, round = 0, received_in = 0;
  MPI_CHECK(MPI_Comm_rank(comm, &rank));
  MPI_CHECK(MPI_Comm_size(comm, &ranks));
  const int place = (rank - root + ranks) % ranks;
  for (int have = 1; have < ranks; have *= 2) {  // so far the places 0 to have - 1 have the data
    ++round;
    if (place < have && place + have < ranks) {
      MPI_CHECK(MPI_Send(data, count, type, (rank + have) % ranks, round, comm));
    } else if (place >= have && place < 2 * have) {
      MPI_CHECK(MPI_Recv(data, count, type, (rank - have + ranks) % ranks, round, comm, MPI_STATUS_IGNORE));
      received_in = round;
    }
  }
  return received_in;
}

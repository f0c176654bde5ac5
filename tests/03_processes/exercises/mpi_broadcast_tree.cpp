// Tests a broadcast along a tree that a learner has written.

#include "broadcast_by_hand.hpp"

#include <algorithm>
#include <vector>

using judge::expect;

namespace {

int sent = 0, collective = 0;  // by this rank

// How many messages, one after the other, have led to what this rank has done: Lamport's clock. It is sent behind each
// message, over a communicator of its own and with the number of the broadcast.
int steps = 0, broadcast = 0;
MPI_Comm clocks = MPI_COMM_NULL;

void send_clock(int rank) {
  ++sent;
  ++steps;
  PMPI_Send(&steps, 1, MPI_INT, rank, broadcast, clocks);
}

void receive_clock(int rank) {
  int theirs = 0;
  PMPI_Recv(&theirs, 1, MPI_INT, rank, broadcast, clocks, MPI_STATUS_IGNORE);
  steps = std::max(steps, theirs);
}

}  // namespace

// These stand before MPI's own functions (MPI 4.0, chapter 15), and count.
extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm) {
  send_clock(rank);
  return PMPI_Ssend(data, count, type, rank, tag, comm);  // it must not rely on copies that MPI makes
}

extern "C" int MPI_Recv(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                        MPI_Status* status) {
  MPI_Status own;
  MPI_Status* const used = status == MPI_STATUS_IGNORE ? &own : status;
  const int result = PMPI_Recv(data, count, type, rank, tag, comm, used);
  if (result == MPI_SUCCESS) receive_clock(used->MPI_SOURCE);
  return result;
}

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  send_clock(rank);
  return PMPI_Isend(data, count, type, rank, tag, comm, request);
}

extern "C" int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++collective;
  return PMPI_Bcast(data, count, type, root, comm);
}

int main() {
  const mpi::Environment world;
  for (int ranks = 1; ranks <= world.size(); ++ranks) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, world.rank() < ranks ? 0 : MPI_UNDEFINED, -world.rank(), &comm));
    if (comm == MPI_COMM_NULL) continue;
    int rounds = 0, rank = 0;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    while (1 << rounds < ranks) ++rounds;
    MPI_CHECK(MPI_Comm_dup(comm, &clocks));
    for (int root = 0; root < ranks; ++root) {
      std::vector<int> data(1000, rank == root ? 7 + root : -1);
      sent = collective = steps = 0;
      broadcast = root;
      const int round = broadcast_by_tree(data.data(), 1000, MPI_INT, root, comm);
      expect(collective == 0, "MPI_Bcast is what you are to write yourself.");
      expect(data == std::vector<int>(1000, 7 + root), "A rank does not have what the root has sent.");
      expect(sent <= rounds, "A rank sends more messages than the tree has rounds.");
      expect(steps <= rounds,
             "The data come to a rank by more messages in a row than the tree has rounds. In each round "
             "every rank that has the data sends them to one that has them not.");
      expect(round >= 0 && round <= rounds, "A rank says that it got the data in a round that the tree does not have.");
      expect((round == 0) == (rank == root), "The root returns 0, and no other rank does.");
    }
    MPI_CHECK(MPI_Comm_free(&clocks));
    MPI_CHECK(MPI_Comm_free(&comm));
  }
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() == 0) cookbook::println("every rank has the data");
  return 0;
}

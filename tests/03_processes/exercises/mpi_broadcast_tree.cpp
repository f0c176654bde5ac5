// Tests a broadcast along a tree that a learner has written.

#include "broadcast_by_hand.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

using judge::expect;

namespace {

int sent = 0, collective = 0;  // by this rank

// How many messages, one after the other, have led to what this rank has done: Lamport's clock. It is sent behind each
// message, over a communicator of its own and with the number of the broadcast.
int steps = 0, broadcast = 0;
int sender = -1;  // who has sent the data to this rank
MPI_Comm clocks = MPI_COMM_NULL;
MPI_Request receiving = MPI_REQUEST_NULL;

void send_clock(int rank) {
  ++sent;
  ++steps;
  PMPI_Send(&steps, 1, MPI_INT, rank, broadcast, clocks);
}

void receive_clock(int rank) {
  int theirs = 0;
  PMPI_Recv(&theirs, 1, MPI_INT, rank, broadcast, clocks, MPI_STATUS_IGNORE);
  steps = std::max(steps, theirs);
  sender = rank;
}

/// More ranks than there are processes: one process plays one after the other, with messages that only lie here.
struct Play {
  struct Message {
    int from, to, tag;
    std::vector<std::byte> bytes;
  };
  struct NotYet {};  ///< the rank that is played waits for a message that nobody has sent so far

  int ranks, rank;
  std::vector<Message> messages;
  MPI_Status last;

  void send(const void* data, int count, MPI_Datatype type, int to, int tag) {
    int size = 0;
    PMPI_Type_size(type, &size);
    const auto* first = static_cast<const std::byte*>(data);
    messages.push_back({rank, to, tag, {first, first + static_cast<std::ptrdiff_t>(count) * size}});
  }
  void receive(void* data, int from, int tag, MPI_Status* status) {
    const auto found = std::find_if(messages.begin(), messages.end(), [&](const Message& one) {
      return one.to == rank && (from == MPI_ANY_SOURCE || one.from == from) && (tag == MPI_ANY_TAG || one.tag == tag);
    });
    if (found == messages.end()) throw NotYet();
    std::copy(found->bytes.begin(), found->bytes.end(), static_cast<std::byte*>(data));
    last.MPI_SOURCE = found->from;
    last.MPI_TAG = found->tag;
    last.MPI_ERROR = MPI_SUCCESS;
    if (status != MPI_STATUS_IGNORE) *status = last;
    messages.erase(found);
  }
};

Play* play = nullptr;

void many_ranks(int ranks, int root) {
  Play all{ranks, 0, {}, {}};
  play = &all;
  std::vector<bool> done(static_cast<std::size_t>(ranks));
  for (bool somebody = true; somebody;) {
    somebody = false;
    for (all.rank = 0; all.rank < ranks; ++all.rank) {
      if (done[static_cast<std::size_t>(all.rank)]) continue;
      const std::vector<Play::Message> before = all.messages;
      try {
        int data = all.rank == root ? 77 : -1;
        broadcast_by_tree(&data, 1, MPI_INT, root, MPI_COMM_WORLD);
        expect(data == 77, "With " + std::to_string(ranks) + " ranks, one does not have what the root has sent.");
        done[static_cast<std::size_t>(all.rank)] = somebody = true;
      } catch (const Play::NotYet&) {
        all.messages = before;  // from the beginning, when others have sent
      }
    }
  }
  play = nullptr;
  expect(std::count(done.begin(), done.end(), true) == ranks,
         "With " + std::to_string(ranks) + " ranks, one waits for a message that nobody sends.");
}

}  // namespace

// These stand before MPI's own functions (MPI 4.0, chapter 15), and count.
extern "C" int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  if (play == nullptr) return PMPI_Comm_rank(comm, rank);
  *rank = play->rank;
  return MPI_SUCCESS;
}

extern "C" int MPI_Comm_size(MPI_Comm comm, int* ranks) {
  if (play == nullptr) return PMPI_Comm_size(comm, ranks);
  *ranks = play->ranks;
  return MPI_SUCCESS;
}

extern "C" int MPI_Ssend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm) {
  if (play != nullptr) {
    play->send(data, count, type, rank, tag);
    return MPI_SUCCESS;
  }
  send_clock(rank);
  return PMPI_Ssend(data, count, type, rank, tag, comm);
}

extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm) {
  return MPI_Ssend(data, count, type, rank, tag, comm);  // it must not rely on copies that MPI makes
}

extern "C" int MPI_Issend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                          MPI_Request* request) {
  if (play != nullptr) {
    play->send(data, count, type, rank, tag);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  send_clock(rank);
  return PMPI_Issend(data, count, type, rank, tag, comm, request);
}

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  return MPI_Issend(data, count, type, rank, tag, comm, request);
}

extern "C" int MPI_Recv(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                        MPI_Status* status) {
  if (play != nullptr) {
    play->receive(data, rank, tag, status);
    return MPI_SUCCESS;
  }
  MPI_Status own;
  MPI_Status* const used = status == MPI_STATUS_IGNORE ? &own : status;
  const int result = PMPI_Recv(data, count, type, rank, tag, comm, used);
  if (result == MPI_SUCCESS) receive_clock(used->MPI_SOURCE);
  return result;
}

extern "C" int MPI_Irecv(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                         MPI_Request* request) {
  if (play != nullptr) {
    play->receive(data, rank, tag, MPI_STATUS_IGNORE);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  const int result = PMPI_Irecv(data, count, type, rank, tag, comm, request);
  receiving = *request;
  return result;
}

extern "C" int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (play != nullptr) {
    if (status != MPI_STATUS_IGNORE) *status = play->last;
    return MPI_SUCCESS;
  }
  const bool receives = receiving != MPI_REQUEST_NULL && *request == receiving;
  MPI_Status own;
  MPI_Status* const used = status == MPI_STATUS_IGNORE ? &own : status;
  const int result = PMPI_Wait(request, used);
  if (receives) {
    receiving = MPI_REQUEST_NULL;
    receive_clock(used->MPI_SOURCE);
  }
  return result;
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
      sender = -1;
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
      std::vector<int> round_of(static_cast<std::size_t>(ranks));
      MPI_CHECK(MPI_Allgather(&round, 1, MPI_INT, round_of.data(), 1, MPI_INT, comm));
      for (int r = 1; r <= rounds; ++r) {
        expect(std::count(round_of.begin(), round_of.end(), r) <= 1 << (r - 1),
               "More ranks say that they got the data in the same round than had them to send.");
      }
      expect(sender < 0 || round_of[static_cast<std::size_t>(sender)] < round,
             "A rank says that it got the data before the round in which its sender had them.");
    }
    MPI_CHECK(MPI_Comm_free(&clocks));
    MPI_CHECK(MPI_Comm_free(&comm));
  }
  if (world.rank() == 0) {
    for (const int ranks : {17, 40, 100}) {
      for (const int root : {0, 5, ranks - 1}) many_ranks(ranks, root);
    }
  }
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  if (world.rank() == 0) cookbook::println("every rank has the data");
  return 0;
}

// Loaded before the ranks by LD_PRELOAD, when an exercise is judged: writes to the file that COOKBOOK_EXERCISE_RECORD
// names a line "call MPI_Send" for each of the first thousand calls of a function that moves data, and a line "sent N"
// for the N bytes of each of the first 100,000 messages from one rank to another. With COOKBOOK_EXERCISE_SYNCHRONOUS
// in the environment MPI_Send waits for its receive, as MPI allows it to do with any message, and so does the wait for
// an MPI_Isend. It stands before the library by MPI's own profiling interface (MPI 4.0, chapter 15).

#include <mpi.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "interposer.hpp"

namespace {

void count_call(const char* name) {
  static std::atomic<int> calls = 0;
  if (++calls <= 1000) record("call " + std::string(name));
}

/// A message of that many values to another rank.
void count_bytes(int count, MPI_Datatype type, int rank, MPI_Comm comm) {
  static std::atomic<int> messages = 0;
  int mine = MPI_PROC_NULL, size = 0;
  PMPI_Comm_rank(comm, &mine);
  if (rank == mine || rank == MPI_PROC_NULL || ++messages > 100'000) return;
  PMPI_Type_size(type, &size);
  record("sent " + std::to_string(static_cast<long>(count) * size));
}

}  // namespace

#define COUNTED(name, parameters, arguments) \
  extern "C" int MPI_##name parameters {     \
    count_call("MPI_" #name);                \
    return PMPI_##name arguments;            \
  }

using Request = MPI_Request*;
using Status = MPI_Status*;
#define TO const void *data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm
#define FROM void *data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm
#define MESSAGE data, count, type, rank, tag, comm

// A function that sends from one rank to another.
#define SENDING(name, parameters, arguments) \
  extern "C" int MPI_##name parameters {     \
    count_call("MPI_" #name);                \
    count_bytes(count, type, rank, comm);    \
    return PMPI_##name arguments;            \
  }

/// Whether a send has to wait for its receive.
static bool synchronous() {
  static const bool asked_for = std::getenv("COOKBOOK_EXERCISE_SYNCHRONOUS") != nullptr;
  return asked_for;
}

extern "C" int MPI_Send(TO) {
  count_call("MPI_Send");
  count_bytes(count, type, rank, comm);
  return synchronous() ? PMPI_Ssend(MESSAGE) : PMPI_Send(MESSAGE);
}

extern "C" int MPI_Isend(TO, Request request) {
  count_call("MPI_Isend");
  count_bytes(count, type, rank, comm);
  return synchronous() ? PMPI_Issend(MESSAGE, request) : PMPI_Isend(MESSAGE, request);
}

SENDING(Ssend, (TO), (MESSAGE))
SENDING(Bsend, (TO), (MESSAGE))
SENDING(Rsend, (TO), (MESSAGE))
SENDING(Issend, (TO, Request request), (MESSAGE, request))
SENDING(Ibsend, (TO, Request request), (MESSAGE, request))
SENDING(Irsend, (TO, Request request), (MESSAGE, request))
SENDING(Send_init, (TO, Request request), (MESSAGE, request))  // counts as one message, however often it is started
SENDING(Ssend_init, (TO, Request request), (MESSAGE, request))
COUNTED(Recv, (FROM, Status status), (MESSAGE, status))
COUNTED(Irecv, (FROM, Request request), (MESSAGE, request))

extern "C" int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag, void* in,
                            int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, Status status) {
  count_call("MPI_Sendrecv");
  count_bytes(out_count, out_type, to, comm);
  return PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, status);
}

extern "C" int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int rank, int tag, int from, int in_tag,
                                    MPI_Comm comm, Status status) {
  count_call("MPI_Sendrecv_replace");
  count_bytes(count, type, rank, comm);
  return PMPI_Sendrecv_replace(data, count, type, rank, tag, from, in_tag, comm, status);
}

COUNTED(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm), (data, count, type, root, comm))
COUNTED(Ibcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, Request request),
        (data, count, type, root, comm, request))

#define BLOCKS const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count, MPI_Datatype in_type
#define BLOCK_ARGUMENTS out, out_count, out_type, in, in_count, in_type
COUNTED(Scatter, (BLOCKS, int root, MPI_Comm comm), (BLOCK_ARGUMENTS, root, comm))
COUNTED(Gather, (BLOCKS, int root, MPI_Comm comm), (BLOCK_ARGUMENTS, root, comm))
COUNTED(Igather, (BLOCKS, int root, MPI_Comm comm, Request request), (BLOCK_ARGUMENTS, root, comm, request))
COUNTED(Allgather, (BLOCKS, MPI_Comm comm), (BLOCK_ARGUMENTS, comm))
COUNTED(Alltoall, (BLOCKS, MPI_Comm comm), (BLOCK_ARGUMENTS, comm))
COUNTED(Scatterv,
        (const void* out, const int* counts, const int* places, MPI_Datatype out_type, void* in, int in_count,
         MPI_Datatype in_type, int root, MPI_Comm comm),
        (out, counts, places, out_type, in, in_count, in_type, root, comm))
COUNTED(Gatherv,
        (const void* out, int out_count, MPI_Datatype out_type, void* in, const int* counts, const int* places,
         MPI_Datatype in_type, int root, MPI_Comm comm),
        (out, out_count, out_type, in, counts, places, in_type, root, comm))
COUNTED(Reduce, (const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
        (out, in, count, type, op, root, comm))
COUNTED(Allreduce, (const void* out, void* in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (out, in, count, type, op, comm))
COUNTED(Accumulate,
        (const void* from, int count, MPI_Datatype type, int rank, MPI_Aint place, int there, MPI_Datatype there_type,
         MPI_Op op, MPI_Win window),
        (from, count, type, rank, place, there, there_type, op, window))
COUNTED(Fetch_and_op,
        (const void* from, void* before, MPI_Datatype type, int rank, MPI_Aint place, MPI_Op op, MPI_Win window),
        (from, before, type, rank, place, op, window))
COUNTED(Get,
        (void* to, int count, MPI_Datatype type, int rank, MPI_Aint place, int there, MPI_Datatype there_type,
         MPI_Win window),
        (to, count, type, rank, place, there, there_type, window))
COUNTED(Put,
        (const void* from, int count, MPI_Datatype type, int rank, MPI_Aint place, int there, MPI_Datatype there_type,
         MPI_Win window),
        (from, count, type, rank, place, there, there_type, window))

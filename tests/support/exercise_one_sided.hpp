/// What the judge of exercises looks at in a program whose ranks change a counter of rank 0 by one-sided communication:
/// what each of them adds, and whether it uses a number that has not come yet, or an old one. An exercise includes it
/// in the C++ that comes before the program. The functions of MPI at the end stand before those of the library (MPI
/// 4.0, chapter 15). They let no number arrive before the call that completes its transfer, as MPI allows.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <list>
#include <new>
#include <string>

#include "cookbook/mpi.hpp"
#include "exercise_probe.hpp"

namespace judge {

/// What all ranks share, in memory of this computer.
struct Counter {
  std::atomic<long> changes = 0;
  std::atomic<int> readers = 0;  // ranks that have the counter's number and have not changed it since
};

/// A transfer from the counter that the program has begun: where its number is to go.
struct Coming {
  int* to;
  bool only_reads, swaps;
  int number, compare, wanted;
};

inline Counter* shared = nullptr;
inline MPI_Win memory = MPI_WIN_NULL;  // that `shared` lies in
inline const void* counter = nullptr;  // this rank's own number, as far as it is known; on rank 0 it is the counter
inline std::list<Coming> coming;
inline long added = 0, epoch = 0, got_in = -1, got_after = 0;
inline int got = 0;
inline bool exclusive = false, reads = false, apart = false;
inline int meetings = 0;  // calls, since the first value was set, in which a rank may wait for another one

/// To be called where the program sets its number in the window to its first value.
inline void starts(const void* number) {
  counter = number;
  meetings = 0;
}

inline bool is_counters(MPI_Win window) {
  int found = 0;
  void* base = nullptr;
  PMPI_Win_get_attr(window, MPI_WIN_BASE, &base, &found);
  return counter == nullptr || base == nullptr || base == counter;
}

inline bool is_counter(int count, int rank, MPI_Aint place, MPI_Win window) {
  return count == 1 && rank == 0 && (place == 0 || counter == nullptr) && is_counters(window);
}

inline void has_read(bool now) {
  if (reads != now) shared->readers += now ? 1 : -1;
  reads = now;
}

/// The program adds to the counter in one step.
inline void adds(int number) {
  added += number;
  ++shared->changes;
  has_read(false);
}

/// The program has called what completes its transfers.
inline void complete() {
  for (const Coming& one : coming) {
    *one.to = got = one.number;
    got_in = epoch;
    got_after = shared->changes;
    if (one.only_reads) has_read(true);
    if (one.swaps && one.number == one.compare) adds(one.wanted - one.compare);
  }
  coming.clear();
}

/// The program stores a number. Ranks that are between their get and their put at the same time get that far here.
inline void stores(int number) {
  expect(coming.empty(), "A rank puts a number while its get is not complete: MPI_Get only begins the transfer.");
  if (got_in < 0) {  // rank 0 may have loaded it
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    expect(rank == 0, "A rank puts a number that it has not made from the counter's.");
    std::memcpy(&got, counter, sizeof got);
    got_after = shared->changes;
  } else if (!exclusive || got_in != epoch) {
    apart = true;
    for (int i = 0; i < 1200 && shared->readers < 2; ++i) usleep(1000);
  }
  expect(shared->changes++ == got_after, "Between a rank's get and its put another rank has changed the counter.");
  expect(number != got, "A rank puts the number that it has got: what it changes before the get is complete is lost.");
  added += number - got;
  has_read(false);
}

/// What the operation does to the counter; `from` is a number of the program.
inline void changes(const void* from, MPI_Op op) {
  int number = 0;
  if (op != MPI_NO_OP) std::memcpy(&number, from, sizeof number);
  if (op == MPI_SUM) adds(number);
  if (op == MPI_REPLACE) stores(number);
}

/// Where the number goes that a call fetches.
inline int* arrives(void* to, bool only_reads) {
  coming.push_back({static_cast<int*>(to), only_reads, false, 0, 0, 0});
  return &coming.back().number;
}

/// To be called before the program looks at the result: behind two calls of MPI_Barrier, one of them after the start.
inline void expect_one_added() {
  expect(!apart || meetings > 2,
         "A rank gets the counter under one lock and puts it under another, and waits for no other "
         "rank: it may have changed.");
  expect(added != 0, "A rank does not add to the counter by one-sided communication.");
  expect(added == 1, "A rank adds " + std::to_string(added) + " to the counter, and it shall add 1.");
}

}  // namespace judge

extern "C" inline int MPI_Init_thread(int* argc, char*** argv, int wanted, int* granted) {
  const int error = PMPI_Init_thread(argc, argv, wanted, granted);
  int rank = 0, unit = 0;
  MPI_Aint size = sizeof(judge::Counter);
  void* own = nullptr;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Win_allocate_shared(rank == 0 ? size : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &judge::memory);
  PMPI_Win_shared_query(judge::memory, 0, &size, &unit, &judge::shared);
  if (rank == 0) new (judge::shared) judge::Counter();
  PMPI_Barrier(MPI_COMM_WORLD);
  return error;
}
extern "C" inline int MPI_Finalize() {
  PMPI_Win_free(&judge::memory);
  return PMPI_Finalize();
}

#define JUDGE_BEGINS(name, parameters, arguments, is_exclusive) \
  extern "C" inline int MPI_##name parameters {                 \
    const int error = PMPI_##name arguments;                    \
    if (judge::is_counters(window)) {                           \
      ++judge::epoch;                                           \
      judge::exclusive = is_exclusive;                          \
    }                                                           \
    return error;                                               \
  }
#define JUDGE_COMPLETES(name, parameters, arguments, those_of_rank_0) \
  extern "C" inline int MPI_##name parameters {                       \
    const int error = PMPI_##name arguments;                          \
    if (judge::is_counters(window) && those_of_rank_0) {              \
      judge::complete();                                              \
    }                                                                 \
    return error;                                                     \
  }

JUDGE_BEGINS(Win_lock, (int type, int rank, int assert, MPI_Win window), (type, rank, assert, window),
             rank == 0 && type == MPI_LOCK_EXCLUSIVE)
JUDGE_BEGINS(Win_lock_all, (int assert, MPI_Win window), (assert, window), false)
JUDGE_BEGINS(Win_start, (MPI_Group group, int assert, MPI_Win window), (group, assert, window), false)
JUDGE_COMPLETES(Win_complete, (MPI_Win window), (window), true)
JUDGE_COMPLETES(Win_unlock, (int rank, MPI_Win window), (rank, window), rank == 0)
JUDGE_COMPLETES(Win_unlock_all, (MPI_Win window), (window), true)
JUDGE_COMPLETES(Win_flush, (int rank, MPI_Win window), (rank, window), rank == 0)
JUDGE_COMPLETES(Win_flush_all, (MPI_Win window), (window), true)
JUDGE_COMPLETES(Win_flush_local, (int rank, MPI_Win window), (rank, window), rank == 0)
JUDGE_COMPLETES(Win_flush_local_all, (MPI_Win window), (window), true)

extern "C" inline int MPI_Win_fence(int assert, MPI_Win window) {
  const int error = PMPI_Win_fence(assert, window);
  if (judge::is_counters(window)) {
    judge::complete();
    ++judge::epoch;
    ++judge::meetings;
    judge::exclusive = false;
  }
  return error;
}

#define JUDGE_MEETS(name, parameters, arguments) \
  extern "C" inline int MPI_##name parameters {  \
    ++judge::meetings;                           \
    return PMPI_##name arguments;                \
  }
JUDGE_MEETS(Barrier, (MPI_Comm comm), (comm))
JUDGE_MEETS(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm), (data, count, type, root, comm))
JUDGE_MEETS(Send, (const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm),
            (data, count, type, rank, tag, comm))
JUDGE_MEETS(Ssend, (const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm),
            (data, count, type, rank, tag, comm))
JUDGE_MEETS(Recv, (void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Status* status),
            (data, count, type, rank, tag, comm, status))

// These complete what a call with a request has begun, such as MPI_Rget.
extern "C" inline int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const int error = PMPI_Wait(request, status);
  judge::complete();
  return error;
}
extern "C" inline int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  const int error = PMPI_Waitall(count, requests, statuses);
  judge::complete();
  return error;
}
extern "C" inline int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const int error = PMPI_Test(request, done, status);
  if (*done) judge::complete();
  return error;
}

#define JUDGE_THERE int rank, MPI_Aint place, int there, MPI_Datatype there_type
#define JUDGE_IS_THERE rank, place, there, there_type

extern "C" inline int MPI_Get(void* to, int count, MPI_Datatype type, JUDGE_THERE, MPI_Win window) {
  if (judge::is_counter(count, rank, place, window)) to = judge::arrives(to, true);
  return PMPI_Get(to, count, type, JUDGE_IS_THERE, window);
}
extern "C" inline int MPI_Rget(void* to, int count, MPI_Datatype type, JUDGE_THERE, MPI_Win window,
                               MPI_Request* request) {
  if (judge::is_counter(count, rank, place, window)) to = judge::arrives(to, true);
  return PMPI_Rget(to, count, type, JUDGE_IS_THERE, window, request);
}
extern "C" inline int MPI_Put(const void* from, int count, MPI_Datatype type, JUDGE_THERE, MPI_Win window) {
  if (judge::is_counter(count, rank, place, window)) judge::changes(from, MPI_REPLACE);
  return PMPI_Put(from, count, type, JUDGE_IS_THERE, window);
}
extern "C" inline int MPI_Rput(const void* from, int count, MPI_Datatype type, JUDGE_THERE, MPI_Win window,
                               MPI_Request* request) {
  if (judge::is_counter(count, rank, place, window)) judge::changes(from, MPI_REPLACE);
  return PMPI_Rput(from, count, type, JUDGE_IS_THERE, window, request);
}
extern "C" inline int MPI_Accumulate(const void* from, int count, MPI_Datatype type, JUDGE_THERE, MPI_Op op,
                                     MPI_Win window) {
  if (judge::is_counter(count, rank, place, window)) judge::changes(from, op);
  return PMPI_Accumulate(from, count, type, JUDGE_IS_THERE, op, window);
}
extern "C" inline int MPI_Raccumulate(const void* from, int count, MPI_Datatype type, JUDGE_THERE, MPI_Op op,
                                      MPI_Win window, MPI_Request* request) {
  if (judge::is_counter(count, rank, place, window)) judge::changes(from, op);
  return PMPI_Raccumulate(from, count, type, JUDGE_IS_THERE, op, window, request);
}
extern "C" inline int MPI_Get_accumulate(const void* from, int count, MPI_Datatype type, void* to, int to_count,
                                         MPI_Datatype to_type, JUDGE_THERE, MPI_Op op, MPI_Win window) {
  if (judge::is_counter(count, rank, place, window)) {
    judge::changes(from, op);
    to = judge::arrives(to, op == MPI_NO_OP);
  }
  return PMPI_Get_accumulate(from, count, type, to, to_count, to_type, JUDGE_IS_THERE, op, window);
}
extern "C" inline int MPI_Rget_accumulate(const void* from, int count, MPI_Datatype type, void* to, int to_count,
                                          MPI_Datatype to_type, JUDGE_THERE, MPI_Op op, MPI_Win window,
                                          MPI_Request* request) {
  if (judge::is_counter(count, rank, place, window)) {
    judge::changes(from, op);
    to = judge::arrives(to, op == MPI_NO_OP);
  }
  return PMPI_Rget_accumulate(from, count, type, to, to_count, to_type, JUDGE_IS_THERE, op, window, request);
}
extern "C" inline int MPI_Fetch_and_op(const void* from, void* to, MPI_Datatype type, int rank, MPI_Aint place,
                                       MPI_Op op, MPI_Win window) {
  if (judge::is_counter(1, rank, place, window)) {
    judge::changes(from, op);
    to = judge::arrives(to, op == MPI_NO_OP);
  }
  return PMPI_Fetch_and_op(from, to, type, rank, place, op, window);
}
extern "C" inline int MPI_Compare_and_swap(const void* wanted, const void* compare, void* to, MPI_Datatype type,
                                           int rank, MPI_Aint place, MPI_Win window) {
  if (judge::is_counter(1, rank, place, window)) {
    to = judge::arrives(to, false);
    judge::Coming& swap = judge::coming.back();
    std::memcpy(&swap.wanted, wanted, sizeof swap.wanted);
    std::memcpy(&swap.compare, compare, sizeof swap.compare);
    swap.swaps = true;
  }
  return PMPI_Compare_and_swap(wanted, compare, to, type, rank, place, window);
}

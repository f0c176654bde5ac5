/// Which rank is in which call of MPI: printed whenever no rank has moved for a while. The functions of MPI at the end
/// of this file stand before those of the library, which have a second name that begins with PMPI. Include it in one
/// source of a program. Or make it a library, which the loader searches before all others (the first two lines are one
/// command; g++'s warning "#pragma once in main file" is harmless):
///
///     mpicxx -std=c++20 -shared -fPIC -Icommon -o libcall_watch.so
///         -x c++ chapters/09_diagnosis/debug_mpi/call_watch.hpp common/cookbook/print.cpp -lfmt
///     mpirun -n 4 -x LD_PRELOAD=$PWD/libcall_watch.so ./program
///
/// The ranks have to be on one host, and use the MPI library for which this is compiled, as a shared one. One thread
/// per rank calls MPI.
#pragma once

#define OMPI_SKIP_MPICXX
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/print.hpp"

namespace call_watch {

enum class Kind : std::int16_t { none, send, receive, barrier, broadcast, reduce, allreduce, gather, finalize };

/// A call and what it waits for: the other rank (of the call's communicator) or the root, and the tag. So small that it
/// is stored in one step, and nobody reads half of it.
struct Call {
  Kind kind = Kind::none;
  std::int16_t rank = 0;
  std::int32_t tag = 0;
};
static_assert(std::atomic<Call>::is_always_lock_free);

/// A receive may name any rank, and any tag.
inline std::string number_or_any(int number, int any) { return number == any ? "any" : std::to_string(number); }

inline std::string text_of(Call call) {
  switch (call.kind) {
    case Kind::none:
      return "in no call";
    case Kind::send:
      return fmt::format("MPI_Send to {}, tag {}", call.rank, call.tag);
    case Kind::receive:
      return fmt::format("MPI_Recv from {}, tag {}", number_or_any(call.rank, MPI_ANY_SOURCE),
                         number_or_any(call.tag, MPI_ANY_TAG));
    case Kind::barrier:
      return "MPI_Barrier";
    case Kind::broadcast:
      return fmt::format("MPI_Bcast, root {}", call.rank);
    case Kind::reduce:
      return fmt::format("MPI_Reduce, root {}", call.rank);
    case Kind::allreduce:
      return "MPI_Allreduce";
    case Kind::gather:
      return fmt::format("MPI_Gather, root {}", call.rank);
    case Kind::finalize:
      return "MPI_Finalize";
  }
  return "";
}

/// What a rank tells the others, in memory that all of them share.
struct Slot {
  static constexpr long kept = 1000;
  std::atomic<Call> now = Call{};
  std::atomic<long> moves = 0;                          ///< calls begun, and calls ended
  std::atomic<long> collectives = 0;                    ///< collective calls begun on MPI_COMM_WORLD
  std::array<std::atomic<Call>, kept> collective = {};  ///< the last ones of these: number k is at k % kept
};

/// MPI demands that all ranks make the same collective calls in the same order. Returns the first number (of those that
/// are kept) at which the kinds or the roots of their calls differ, in words; nothing if they do not. Of each call the
/// ranks are compared that have come so far.
inline std::string first_mismatch(const std::vector<Slot*>& slots) {
  const auto fewer = [](const Slot* a, const Slot* b) { return a->collectives < b->collectives; };
  const long most = (*std::max_element(slots.begin(), slots.end(), fewer))->collectives;
  for (long k = std::max(0L, most - Slot::kept); k < most; ++k) {
    std::map<std::string, std::string> ranks_in;
    for (std::size_t rank = 0; rank < slots.size(); ++rank) {
      if (slots[rank]->collectives <= k) continue;  // this rank is behind
      std::string& ranks = ranks_in[text_of(slots[rank]->collective[static_cast<std::size_t>(k % Slot::kept)])];
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
    }
    if (ranks_in.size() <= 1) continue;
    std::string text;
    for (const auto& [call, ranks] : ranks_in) text += fmt::format("{} {} by {}", text.empty() ? "" : ";", call, ranks);
    return fmt::format("collective call {} differs:", k + 1) + text;
  }
  return "";
}

inline std::vector<Slot*> slots;  // of all ranks
inline Slot* mine = nullptr;
inline MPI_Win memory = MPI_WIN_NULL;
inline std::jthread watcher;  // on rank 0

inline void report(std::chrono::milliseconds limit) {
  cookbook::println("no rank has moved for {} ms", limit.count());
  for (std::size_t rank = 0; rank < slots.size(); ++rank) {
    cookbook::println("rank {}  {}", rank, text_of(slots[rank]->now));
  }
  const std::string mismatch = first_mismatch(slots);
  cookbook::println("{}", mismatch.empty() ? "the collective calls are the same so far" : mismatch);
}

/// Prints a report when no rank has begun or ended a call for the time `limit`, and another one when that happens
/// again.
inline void watch(const std::stop_token& stop, std::chrono::milliseconds limit) {
  using Clock = std::chrono::steady_clock;
  long moves_before = -1;
  bool reported = false;
  for (Clock::time_point since; !stop.stop_requested(); std::this_thread::sleep_for(limit / 20)) {
    long moves = 0;
    for (const Slot* slot : slots) moves += slot->moves;
    if (moves != moves_before) {
      moves_before = moves;
      since = Clock::now();
      reported = false;
    } else if (!reported && Clock::now() - since > limit) {
      report(limit);
      reported = true;
    }
  }
}

/// Called by all ranks when MPI has begun.
inline void begin() {
  int rank = 0, size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  void* place = nullptr;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;  // by default, it ends the program before the message below
  PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (PMPI_Win_allocate_shared(sizeof(Slot), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &place, &memory) != MPI_SUCCESS) {
    cookbook::print_error("call_watch: the ranks share no memory");
    PMPI_Abort(MPI_COMM_WORLD, 3);
  }
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  PMPI_Errhandler_free(&handler);
  mine = new (place) Slot;
  PMPI_Barrier(MPI_COMM_WORLD);  // all slots have their first values
  for (int other = 0; other < size; ++other) {
    MPI_Aint bytes = 0;
    int unit = 0;
    PMPI_Win_shared_query(memory, other, &bytes, &unit, &place);
    slots.push_back(static_cast<Slot*>(place));
  }
  const char* wanted = std::getenv("CALL_WATCH_MS");
  const std::chrono::milliseconds limit(std::max(20, wanted != nullptr ? std::atoi(wanted) : 300));
  if (rank == 0) watcher = std::jthread([limit](const std::stop_token& stop) { watch(stop, limit); });
}

/// Called by all ranks before MPI ends: a mismatch need not have made anybody wait.
inline void end() {
  PMPI_Barrier(MPI_COMM_WORLD);
  if (watcher.joinable()) {
    watcher.request_stop();
    watcher.join();
    const std::string mismatch = first_mismatch(slots);
    if (!mismatch.empty()) cookbook::println("{}", mismatch);
  }
  mine = nullptr;
  PMPI_Win_free(&memory);
}

/// From its construction to its end this rank is in a call.
class Inside {
 public:
  explicit Inside(Call call) {
    if (mine == nullptr) return;
    mine->now = call;
    ++mine->moves;
  }
  /// A collective call.
  Inside(Call call, MPI_Comm communicator) : Inside(call) {
    if (mine == nullptr || communicator != MPI_COMM_WORLD) return;
    mine->collective[static_cast<std::size_t>(mine->collectives % Slot::kept)] = call;
    ++mine->collectives;
  }
  ~Inside() {
    if (mine == nullptr) return;
    mine->now = Call{};
    ++mine->moves;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

inline Call call(Kind kind, int rank = 0, int tag = 0) { return {kind, static_cast<std::int16_t>(rank), tag}; }

}  // namespace call_watch

// What the program calls. Each notes the call, makes it by its second name, and notes its end.

using call_watch::Inside, call_watch::Kind;

// The watching thread is a second one in its process, which MPI has to know (MPI_THREAD_FUNNELED), although it makes no
// call.
int MPI_Init_thread(int* argc, char*** argv, int wanted, int* granted) {
  const int error = PMPI_Init_thread(argc, argv, std::max<int>(wanted, MPI_THREAD_FUNNELED), granted);
  if (error == MPI_SUCCESS) call_watch::begin();
  return error;
}

int MPI_Init(int* argc, char*** argv) {
  int granted = 0;
  return MPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &granted);
}

int MPI_Finalize() {
  {
    const Inside inside(call_watch::call(Kind::finalize));
    call_watch::end();
  }
  return PMPI_Finalize();
}

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator) {
  const Inside inside(call_watch::call(Kind::send, to, tag));
  return PMPI_Send(data, count, type, to, tag, communicator);
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm communicator, MPI_Status* status) {
  const Inside inside(call_watch::call(Kind::receive, from, tag));
  return PMPI_Recv(data, count, type, from, tag, communicator, status);
}

int MPI_Barrier(MPI_Comm communicator) {
  const Inside inside(call_watch::call(Kind::barrier), communicator);
  return PMPI_Barrier(communicator);
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
  const Inside inside(call_watch::call(Kind::broadcast, root), communicator);
  return PMPI_Bcast(data, count, type, root, communicator);
}

int MPI_Reduce(const void* data, void* result, int count, MPI_Datatype type, MPI_Op operation, int root,
               MPI_Comm communicator) {
  const Inside inside(call_watch::call(Kind::reduce, root), communicator);
  return PMPI_Reduce(data, result, count, type, operation, root, communicator);
}

int MPI_Allreduce(const void* data, void* result, int count, MPI_Datatype type, MPI_Op operation,
                  MPI_Comm communicator) {
  const Inside inside(call_watch::call(Kind::allreduce), communicator);
  return PMPI_Allreduce(data, result, count, type, operation, communicator);
}

int MPI_Gather(const void* data, int count, MPI_Datatype type, void* all, int count_each, MPI_Datatype type_each,
               int root, MPI_Comm communicator) {
  const Inside inside(call_watch::call(Kind::gather, root), communicator);
  return PMPI_Gather(data, count, type, all, count_each, type_each, root, communicator);
}

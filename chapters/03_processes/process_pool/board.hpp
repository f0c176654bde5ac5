/// What the processes of a pool share, and what its workers and their supervisor do. The caller's side is in pool.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>

#include "child.hpp"
#include "shared_futex.hpp"

/// A chunk of tasks on its way: from the caller to a worker, and back with the results.
struct Place {
  static constexpr std::size_t bytes = 8192;  ///< of the arguments, and of the results

  void (*run)(Place&) = nullptr;      ///< does what is not done yet: run_tasks<Result, Argument>
  void (*function)() = nullptr;       ///< what to call for each task: at the same address in all forked processes
  std::size_t count = 0;              ///< tasks
  std::atomic<std::size_t> done = 0;  ///< tasks whose result is in `results`
  std::size_t died_at = 0;            ///< what `done` was when a worker last died over it,
  int deaths = 0;                     ///< and how many died over that task
  bool failed = false;                ///< the task after those that are done has thrown, or killed too many workers
  char error[200] = {};
  alignas(std::max_align_t) std::byte arguments[bytes];
  alignas(std::max_align_t) std::byte results[bytes];
};

/// Who has a place: nobody, or the process with this id.
using Owner = pid_t;
constexpr Owner nobody = 0, waits_for_a_worker = -1, waits_for_the_caller = -2;

struct Board {
  static constexpr int places = 64;
  static constexpr int max_workers = 64;
  static constexpr int max_deaths = 3;  ///< a task that has killed so many workers is not tried again

  Place place[places];
  std::atomic<Owner> owner[places] = {};

  FutexWord posted = 0;              ///< grows when there is something for the workers to see
  std::atomic<int> idle = 0;         ///< workers that sleep
  std::atomic<bool> closed = false;  ///< workers end when nothing waits

  FutexWord finished = 0;  ///< grows when there is something for the caller to see
  std::atomic<bool> caller_sleeps = false;

  std::atomic<pid_t> worker[max_workers] = {};
  std::atomic<int> replaced = 0;  ///< workers that died and have a successor

  void tell_workers(int how_many) {
    ++posted;
    if (idle > 0) futex_wake(posted, how_many);
  }
  void tell_caller() {
    ++finished;
    if (caller_sleeps) futex_wake(finished);
  }
};

/// Does the tasks of a place, from the first that is not done on. Each result counts from the moment when `done` grows.
template <typename Result, typename Argument>
void run_tasks(Place& place) {
  const auto function = reinterpret_cast<Result (*)(Argument)>(place.function);
  for (std::size_t i = place.done; i < place.count; ++i) {
    Argument argument;
    std::memcpy(&argument, place.arguments + i * sizeof(Argument), sizeof(Argument));
    const Result result = function(argument);
    std::memcpy(place.results + i * sizeof(Result), &result, sizeof(Result));
    place.done.store(i + 1, std::memory_order_release);
  }
}

inline void fail(Place& place, std::string_view error) {
  const std::size_t length = error.copy(place.error, sizeof place.error - 1);
  place.error[length] = '\0';
  place.failed = true;
}

/// Makes a place that waits the caller's own, if there is one: looks from `next` on. In one step, so from then on the
/// supervisor knows whose it is, even if this was the last thing that the worker did. -1 if nothing waits.
inline int claim(Board& board, int next) {
  for (int looks = 0; looks < Board::places; ++looks, ++next) {
    Owner waiting = waits_for_a_worker;
    std::atomic<Owner>& owner = board.owner[next % Board::places];
    if (owner == waiting && owner.compare_exchange_strong(waiting, getpid())) return next % Board::places;
  }
  return -1;
}

/// A worker: claims places and does their tasks, until the pool is closed.
inline int work(Board& board) {
  for (int next = 0;;) {
    const std::uint32_t seen = board.posted;  // before looking: what is posted later is seen by futex_wait
    const int claimed = claim(board, next);
    if (claimed >= 0) {
      Place& place = board.place[claimed];
      try {
        place.run(place);
      } catch (const std::exception& thrown) {
        fail(place, thrown.what());
      } catch (...) {
        fail(place, "an exception of unknown type");
      }
      board.owner[claimed] = waits_for_the_caller;
      board.tell_caller();
      next = claimed + 1;
    } else if (board.closed) {
      return 0;
    } else {
      ++board.idle;
      futex_wait(board.posted, seen, std::chrono::hours(1));
      --board.idle;
    }
  }
}

/// Gives the chunk of a dead worker to the others, unless the task that it was at has killed too many.
inline void give_back(Board& board, pid_t dead) {
  for (int i = 0; i < Board::places; ++i) {
    if (board.owner[i] != dead) continue;
    Place& place = board.place[i];
    place.failed = false;
    place.deaths = place.done == place.died_at ? place.deaths + 1 : 1;
    place.died_at = place.done;
    if (place.deaths == Board::max_deaths) fail(place, "its worker died, three times");
    board.owner[i] = place.failed ? waits_for_the_caller : waits_for_a_worker;
  }
}

/// The supervisor: a small process, made before the caller has grown, which makes the workers, is told when one dies,
/// and makes another. Ends when they have.
inline int keep(Board& board, int processes) {
  const auto hire = [&](std::atomic<pid_t>& worker) { worker = start_child([&] { return work(board); }); };
  std::for_each_n(board.worker, processes, hire);
  board.tell_caller();
  for (int living = processes; living > 0;) {
    int status = 0;
    const pid_t gone = check(waitpid(-1, &status, 0), "waitpid");
    if (status == 0 && board.closed) {  // nothing is in the pool any more
      --living;
      continue;
    }
    ++board.replaced;
    give_back(board, gone);
    hire(*std::find(board.worker, board.worker + processes, gone));
    board.tell_workers(INT_MAX);  // it may have been woken for a chunk, and died before it claimed it
    board.tell_caller();
  }
  return 0;
}

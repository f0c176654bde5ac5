/// The six primitives of the recipe at work between processes, each with the one thing that it promises.
#pragma once

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "child.hpp"
#include "cookbook/checks.hpp"
#include "primitives.hpp"
#include "shared_memory.hpp"

constexpr Duration timeout = std::chrono::seconds(10);  // after so long a process that has not come is taken for dead
constexpr int max_processes = 32;

/// Starts `count` children, with the highest number first; each does work(its number), from 0 on.
template <typename Work>
std::vector<pid_t> start_children(int count, Work work) {
  std::vector<pid_t> children;
  for (int i = count - 1; i >= 0; --i) children.push_back(start_child([&work, i] { return work(i); }));
  return children;
}

/// Waits for the children; how many have failed.
inline long failed(const std::vector<pid_t>& children) {
  return std::ranges::count_if(children, [](pid_t child) { return exit_code_of(child) != 0; });
}

/// Lock: no change of a plain variable is lost.
inline void check_lock(int processes, long rounds, cookbook::Checks& checks) {
  struct Counter {
    RobustMutex mutex;
    long value = 0;
  };
  const Shared<Counter> counter;
  const auto children = start_children(processes, [&](int) {
    for (long i = 0; i < rounds; ++i) {
      const Hold hold(counter->mutex);
      ++counter->value;
    }
  });
  checks.equal("lock: children that failed", failed(children), 0L);
  checks.equal("lock: changes that were lost", processes * rounds - counter->value, 0L);
}

/// Event: nobody goes on before it is set, all do afterwards.
inline void check_event(int processes, cookbook::Checks& checks) {
  struct Start {
    Semaphore here{0};
    Event event;
    std::atomic<int> gone = 0;
  };
  const Shared<Start> start;
  const auto children = start_children(processes, [&](int) {
    start->here.release();
    if (!start->event.wait_for(timeout)) return 1;
    ++start->gone;
    return 0;
  });
  for (int i = 0; i < processes; ++i) start->here.acquire_for(timeout);
  std::vector<int> gone = {start->gone};
  start->event.set();
  checks.equal("event: children that failed", failed(children), 0L);
  gone.push_back(start->gone);
  checks.equal("event: gone on before it is set, and after", gone, {0, processes});
  start->event.clear();
  checks.equal("event: waiting for it once it is cleared", start->event.wait_for(std::chrono::milliseconds(1)), false);
}

/// Condition: each waits until the shared state is what it needs. Here they take turns, in whatever order they come.
inline void check_condition(int processes, cookbook::Checks& checks) {
  struct Row {
    RobustMutex mutex;
    Condition changed;
    int turn = 0;
    int order[max_processes] = {};
  };
  const Shared<Row> row;
  const auto children = start_children(processes, [&](int self) {
    Hold hold(row->mutex);
    if (!row->changed.wait_for(hold, timeout, [&] { return row->turn == self; })) return 1;
    row->order[row->turn++] = self;
    row->changed.notify_all();
    return 0;
  });
  checks.equal("condition: children that failed", failed(children), 0L);
  std::vector<int> ascending(static_cast<std::size_t>(processes));
  std::iota(ascending.begin(), ascending.end(), 0);
  checks.equal("condition: order of the turns", std::vector<int>(row->order, row->order + row->turn), ascending);
}

/// Semaphore: no more holders at once than it has permits.
inline void check_semaphore(int processes, long rounds, cookbook::Checks& checks) {
  constexpr int permits = 2;
  struct Room {
    Semaphore semaphore{permits};
    std::atomic<int> inside = 0, most = 0;
  };
  const Shared<Room> room;
  const auto children = start_children(processes, [&](int) {
    for (long i = 0; i < rounds; ++i) {
      if (!room->semaphore.acquire_for(timeout)) return 1;
      const int inside = ++room->inside;
      for (int most = room->most; most < inside && !room->most.compare_exchange_weak(most, inside);) continue;
      --room->inside;
      room->semaphore.release();
    }
    return 0;
  });
  checks.equal("semaphore: children that failed", failed(children), 0L);
  checks.that("semaphore: never more than 2 inside", room->most <= permits);
  int left = 0;
  while (room->semaphore.acquire_for(Duration::zero())) ++left;
  checks.equal("semaphore: permits left", left, permits);
}

/// Recursive lock: free for others only when given back as often as it was taken.
inline void check_recursive_lock(cookbook::Checks& checks) {
  const Shared<RobustMutex> mutex(PTHREAD_MUTEX_RECURSIVE);
  std::vector<int> got;
  const auto other_tries = [&] {
    got.push_back(exit_code_of(start_child([&] { return Hold(*mutex, std::try_to_lock).held() ? 1 : 0; })));
  };
  {
    const Hold first(*mutex);
    {
      const Hold second(*mutex);
      other_tries();
    }
    other_tries();
  }
  other_tries();
  checks.equal("recursive lock: others that get it at depth 2, 1, 0", got, {0, 0, 1});
}

/// Barrier: nobody begins a phase before all have ended the last one.
inline void check_barrier(int processes, long phases, cookbook::Checks& checks) {
  struct Phases {
    explicit Phases(int parties) : barrier(parties) {}
    Barrier barrier;
    std::atomic<long> done[max_processes] = {};
    std::atomic<long> behind = 0;
  };
  const Shared<Phases> shared(processes);
  const auto children = start_children(processes, [&](int self) {
    for (long phase = 1; phase <= phases; ++phase) {
      shared->done[self] = phase;
      if (shared->barrier.wait_for(timeout) != Barrier::Result::all_here) return 1;
      for (int i = 0; i < processes; ++i) shared->behind += shared->done[i] < phase;
    }
    return 0;
  });
  checks.equal("barrier: children that failed", failed(children), 0L);
  checks.equal("barrier: processes found a phase behind", shared->behind.load(), 0L);
}

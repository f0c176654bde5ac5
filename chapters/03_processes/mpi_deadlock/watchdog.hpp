/// Calls that may never come back: made in a thread of their own, watched, and helped out of a circle of waits.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cookbook/measure.hpp"
#include "mpi_session.hpp"

namespace watchdog {

constexpr int nobody = -1;

/// The calls that a thread has begun so far, and whether it is in one of them now. Written by that thread, read by
/// others.
struct Calls {
  std::atomic<int> sends = 0, receives = 0;
  std::atomic<bool> sending = false, receiving = false;
};

/// Notes that this thread is in a send, a receive, or a call that does both, from here to the end of the block.
class Noted {
 public:
  Noted(Calls& calls, bool sends, bool receives) : calls_(calls) {
    calls.sends += sends;
    calls.receives += receives;
    calls.sending = sends;
    calls.receiving = receives;
  }
  ~Noted() { calls_.sending = calls_.receiving = false; }
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;

 private:
  Calls& calls_;
};

/// Work in a thread of its own. The destructor waits for its end.
class Watched {
 public:
  template <typename Work>
  explicit Watched(Work work)
      : thread_([this, work = std::move(work)] {
          work();
          ended_ = true;
        }) {}

  /// Waits until the work has ended, or until this process has used `timeout` seconds of processor time without it.
  /// A rank that waits in MPI looks for messages all the time, so this is a number of looks; on a busy machine, which
  /// makes everything late, they take longer. For an MPI library that sleeps while it waits, 5 seconds are the limit.
  bool ended_within(double timeout) const {
    const std::clock_t begin = std::clock();
    const cookbook::Stopwatch watch;
    while (!ended_ && static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < timeout && watch.seconds() < 5) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return ended_;
  }

 private:
  std::atomic<bool> ended_ = false;
  std::jthread thread_;  // last, so that it begins after what it uses and is waited for before that goes
};

/// What all ranks know of one of them.
struct State {
  int partner, ended, sends, receives, sending, receiving;
};

/// Whether the rank of this state waits for a call that its partner has not begun. A slow transfer is no such wait:
/// then both are in their calls.
inline bool waits(const State& state, const State& partner) {
  return (state.sending && partner.receives < state.sends) || (state.receiving && partner.sends < state.receives);
}

/// The first circle of ranks that wait for each other, such as "1 -> 5 -> 1". Empty if there is none.
inline std::string circle(const std::vector<State>& states) {
  for (std::size_t start = 0; start < states.size(); ++start) {
    std::string path = fmt::format("{}", start);
    std::size_t rank = start;
    for (std::size_t steps = 0; steps < states.size() && states[rank].partner != nobody; ++steps) {
      const auto next = static_cast<std::size_t>(states[rank].partner);
      if (!waits(states[rank], states[next])) break;
      path += fmt::format(" -> {}", next);
      if (next == start) return path;
      rank = next;
    }
  }
  return "";
}

/// Does `work`, which waits for nobody but rank `partner` and notes its calls in `calls`, on all ranks whose partner is
/// not nobody. If ranks whose timeout has passed wait for each other, these then call `help`, in this thread,
/// which must let the work end. The result is the circle, on all ranks. Called by all.
template <typename Work, typename Help>
std::string run(int partner, Calls& calls, Work work, Help help, double timeout, const mpi::Session& session) {
  std::optional<Watched> thread;
  if (partner != nobody) thread.emplace(work);
  for (;;) {
    State state{partner,        !thread || thread->ended_within(timeout), calls.sends, calls.receives, calls.sending,
                calls.receiving};
    session.meet_asleep();  // the others have nothing to do meanwhile
    std::vector<State> all(static_cast<std::size_t>(session.ranks()));
    constexpr int numbers = sizeof(State) / sizeof(int);
    CHECK_MPI(MPI_Allgather(&state, numbers, MPI_INT, all.data(), numbers, MPI_INT, MPI_COMM_WORLD));
    const std::string found = circle(all);
    if (partner != nobody && !found.empty()) help();
    if (!found.empty() || std::ranges::all_of(all, &State::ended)) return found;  // after the thread has ended
  }
}

}  // namespace watchdog

/// Calls that may never come back: made in a thread of their own, watched, and helped out of a circle of waits.
#pragma once

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

/// Work in a thread of its own. The destructor waits for its end.
class Watched {
 public:
  template <typename Work>
  explicit Watched(Work work)
      : thread_([this, work = std::move(work)] {
          work();
          ended_ = true;
        }) {}

  /// Waits until the work has ended, or until this process has used `patience` seconds of processor time without it.
  /// A rank that waits in MPI looks for messages all the time, so this is a number of looks; on a busy machine, which
  /// makes everything late, they take longer. For an MPI library that sleeps while it waits, 5 seconds are the limit.
  bool ended_within(double patience) const {
    const std::clock_t begin = std::clock();
    const cookbook::Stopwatch watch;
    while (!ended_ && static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < patience && watch.seconds() < 5) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return ended_;
  }

 private:
  std::atomic<bool> ended_ = false;
  std::jthread thread_;  // last, so that it begins after what it uses and is waited for before that goes
};

/// The first circle in a list of who waits for whom, such as "1 -> 5 -> 1". Empty if there is none.
inline std::string circle(const std::vector<int>& waits_for) {
  for (std::size_t start = 0; start < waits_for.size(); ++start) {
    std::string path = fmt::format("{}", start);
    std::size_t rank = start;
    for (std::size_t steps = 0; steps < waits_for.size() && waits_for[rank] != nobody; ++steps) {
      rank = static_cast<std::size_t>(waits_for[rank]);
      path += fmt::format(" -> {}", rank);
      if (rank == start) return path;
    }
  }
  return "";
}

/// Does `work`, which waits for nobody but rank `partner`, on all ranks whose partner is not nobody. If ranks that have
/// lost their patience wait for each other, these then call `help`, in this thread, which must let the work end. The
/// result is the circle, on all ranks. Called by all.
template <typename Work, typename Help>
std::string run(int partner, Work work, Help help, double patience, const mpi::Session& session) {
  int waits_for = nobody;
  std::optional<Watched> thread;
  if (partner != nobody) {
    thread.emplace(work);
    if (!thread->ended_within(patience)) waits_for = partner;
  }
  session.meet_asleep();  // the others have nothing to do meanwhile
  std::vector<int> all(static_cast<std::size_t>(session.ranks()));
  CHECK_MPI(MPI_Allgather(&waits_for, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD));
  const std::string found = circle(all);
  if (partner != nobody && !found.empty()) help();
  return found;  // after the thread has ended, which it does: there is no circle, or no longer
}

}  // namespace watchdog

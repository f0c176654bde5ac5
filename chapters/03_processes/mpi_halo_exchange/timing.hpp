/// How long a time step takes: with the exchange before the work or during it, and on 1, 2, ... ranks.
#pragma once

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/system_check.hpp"
#include "mpi_session.hpp"
#include "tile.hpp"

namespace halo {

/// As many of `ranks` as have a core each.
inline int with_a_core(int ranks) {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, ranks);
}

/// Keeps this process on one core, the ranks on all in turn. mpirun does so by itself, but not with more ranks than
/// cores; then the system may leave two of them on one core, and another idle.
class OnOneCore {
 public:
  explicit OnOneCore(int rank) {
    check(sched_getaffinity(0, sizeof before_, &before_), "sched_getaffinity");
    int skip = rank % CPU_COUNT(&before_), core = 0;
    while (!CPU_ISSET(core, &before_) || skip-- > 0) ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    check(sched_setaffinity(0, sizeof one, &one), "sched_setaffinity");
  }
  ~OnOneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  OnOneCore(const OnOneCore&) = delete;
  OnOneCore& operator=(const OnOneCore&) = delete;

 private:
  cpu_set_t before_;
};

/// Calls `work` with a communicator of the first `count` ranks, on those. The others sleep until it is done.
template <typename Work>
void with_ranks(int count, const mpi::Session& session, Work work) {
  MPI_Comm some;
  const int group = session.rank() < count ? 0 : MPI_UNDEFINED;
  CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, group, session.rank(), &some));
  if (some != MPI_COMM_NULL) {
    work(some);
    CHECK_MPI(MPI_Comm_free(&some));
  }
  session.meet_asleep();
}

/// How long each of `works` takes, in the same order, from the moment when the first of `ranks` begins until the last
/// has ended. They are timed in turns, so that other programs disturb all alike. Each is done once more than `rounds`
/// says, not measured.
inline std::vector<cookbook::Timing> time_in_turns(MPI_Comm ranks, int rounds,
                                                   const std::vector<std::function<void()>>& works) {
  // All processes of a machine have the same steady clock. Rank 0 alone would not do: it may leave the barrier late.
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  int rank = 0;
  CHECK_MPI(MPI_Comm_rank(ranks, &rank));
  const OnOneCore here(rank);
  std::vector<std::vector<double>> seconds(works.size());
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      CHECK_MPI(MPI_Barrier(ranks));
      double begin = now();
      works[i]();
      double end = now();
      CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MIN, ranks));
      CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, ranks));
      if (round > 0) seconds[i].push_back(end - begin);
    }
  }
  std::vector<cookbook::Timing> timings;
  std::transform(seconds.begin(), seconds.end(), std::back_inserter(timings), cookbook::timing_of);
  return timings;
}

/// Both forms of a time step on `count` ranks, beside the work alone: as fast as messages are here, and over a slower
/// network in play.
inline void overlap(const mpi::Session& session, int count, int side, int link_us, cookbook::Verdict& verdict) {
  const Plate plate{disc_and_bar, side, side};
  with_ranks(count, session, [&](MPI_Comm ranks) {
    constexpr int rounds = 21, exchanges = 20;
    const double link = link_us * 1e-6;
    Tile alone(ranks, plate), before(ranks, plate), during(ranks, plate), slow_before(ranks, plate, link),
        slow_during(ranks, plate, link);
    const auto only_work = [&] {
      alone.work(alone.whole());
      alone.step_on();
    };
    const auto only_exchange = [&] {
      for (int i = 0; i < exchanges; ++i) {
        alone.begin_exchange();
        alone.end_exchange();
      }
    };
    const std::vector<cookbook::Timing> timings = time_in_turns(
        ranks, rounds,
        {only_work, only_exchange, [&] { exchange_then_work(before); }, [&] { exchange_during_work(during); },
         [&] { exchange_then_work(slow_before); }, [&] { exchange_during_work(slow_during); }});
    std::vector<Grid> results;
    for (Tile* tile : {&before, &during, &slow_before, &slow_during}) results.push_back(tile->collect());
    if (session.rank() != 0) return;

    std::vector<long> differing;
    const Grid expected = in_one_process(plate, rounds + 1);
    for (const Grid& result : results) differing.push_back(result.differing(expected));
    verdict.equal("cells that differ after the timed steps, four ways", differing, {0, 0, 0, 0});

    cookbook::Figures times(fmt::format("a step of {0} x {0} cells, ranks: {1}", side, count),
                            cookbook::cost("us", 1e-6));
    const std::string slow = fmt::format("over a link of {} us: ", link_us);
    times.add_limit("work alone, which is wrong", timings[0], 1);
    times.add("exchange, then work", timings[2], 1);
    times.add("exchange during work", timings[3], 1);
    times.add(slow + "exchange, then work", timings[4], 1);
    times.add(slow + "exchange during work", timings[5], 1);
    times.print(verdict);
    if (!verdict.passed()) return;
    // Other programs only ever add to a time, so the shortest one says most.
    cookbook::println("an exchange alone takes {:.2f} us", timings[1].minimum / exchanges * 1e6);
    if (link_us == 0) return;
    cookbook::println("of one over the link the work hides {:.0f} %",
                      100 * (timings[4].minimum - timings[5].minimum) / link);
  });
}

/// From one rank to all, a row each, beside the serial code and the machine's memory. `plate_for(n)` is the plate that
/// n ranks have. Returns, on rank 0, how many cells differ from the serial code's after the timed steps, for those
/// numbers of ranks whose plate is the serial code's.
template <typename PlateFor>
std::vector<long> scaling(const mpi::Session& session, cookbook::Figures& rates, PlateFor plate_for) {
  constexpr int rounds = 9;
  const int cores = with_a_core(session.ranks());
  with_ranks(cores, session, [&](MPI_Comm ranks) {
    // What a time step does to memory, and next to nothing else: each cell is read once and written once.
    const std::vector<double> from(static_cast<std::size_t>(plate_for(cores).cells()) / static_cast<std::size_t>(cores),
                                   20.0);
    std::vector<double> to = from;
    const auto pass = [&] {
      std::transform(from.begin(), from.end(), to.begin(), [](double cell) { return 0.5 * cell; });
      cookbook::keep(to.data());
    };
    rates.add_limit("memory read and written", time_in_turns(ranks, rounds, {pass})[0], plate_for(cores).cells());
  });

  const Plate one = plate_for(1);
  Grid now(one, session.rank() == 0 ? one.area() : nowhere), next = now;
  with_ranks(1, session, [&](MPI_Comm ranks) {
    const auto step = [&] {
      work(now, next, one.area());
      std::swap(now, next);
    };
    rates.add_peer("serial code", time_in_turns(ranks, rounds, {step})[0], one.cells());
  });

  std::vector<long> differing;
  for (int count = 1; count <= session.ranks(); ++count) {
    with_ranks(count, session, [&](MPI_Comm ranks) {
      Tile tile(ranks, plate_for(count));
      const cookbook::Timing timing = time_in_turns(ranks, rounds, {[&] { exchange_during_work(tile); }})[0];
      rates.add(fmt::format("ranks: {}", count), timing, plate_for(count).cells());
      if (plate_for(count).cells() != one.cells()) return;
      const Grid result = tile.collect();
      if (session.rank() == 0) differing.push_back(result.differing(now));
    });
  }
  return differing;
}

/// The same plate for all numbers of ranks, then one that grows with them.
inline void strong_and_weak(const mpi::Session& session, int side, cookbook::Verdict& verdict) {
  cookbook::Figures strong(fmt::format("strong scaling, {0} x {0} cells", side), cookbook::rate("M cells/s", 1e6));
  const auto same = [&](int) { return Plate{disc_and_bar, side, side}; };
  const std::vector<long> differing = scaling(session, strong, same);

  const int part = side / 2;
  cookbook::Figures weak(fmt::format("weak scaling, {0} x {0} cells a rank", part), cookbook::rate("M cells/s", 1e6));
  scaling(session, weak, [&](int count) {
    std::array<int, 2> shape{};
    CHECK_MPI(MPI_Dims_create(count, 2, shape.data()));
    return Plate{disc_and_bar, part * shape[0], part * shape[1]};
  });
  if (session.rank() != 0) return;
  verdict.equal(fmt::format("cells that differ after the timed steps, ranks 1 to {}", session.ranks()), differing,
                std::vector<long>(differing.size(), 0));
  strong.print(verdict);
  weak.print(verdict);
}

}  // namespace halo

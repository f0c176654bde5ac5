/// How long a time step takes: with the exchange before the work or during it, and on 1, 2, ... ranks.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/pin.hpp"
#include "mpi_session.hpp"
#include "tile.hpp"

namespace halo {

/// As many of `ranks` as have a core each.
inline int with_a_core(int ranks) {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, ranks);
}

/// The first `count` ranks; none on the others.
class FirstRanks {
 public:
  FirstRanks(int count, const mpi::Session& session) : session_(session) {
    const int group = session.rank() < count ? 0 : MPI_UNDEFINED;
    CHECK_MPI(MPI_Comm_split(MPI_COMM_WORLD, group, session.rank(), &comm_));
  }
  ~FirstRanks() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  FirstRanks(const FirstRanks&) = delete;
  FirstRanks& operator=(const FirstRanks&) = delete;

  /// Calls `work` with their communicator on these ranks. The others sleep until it is done. Called by all.
  template <typename Work>
  void run(Work work) const {
    if (comm_ != MPI_COMM_NULL) work(comm_);
    session_.meet_asleep();
  }

 private:
  const mpi::Session& session_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// How long `work` takes from the moment when the first of `ranks` begins until the last has ended. Called by all of
/// them.
template <typename Work>
double seconds_of(MPI_Comm ranks, Work work) {
  // All processes of a machine have the same steady clock. Rank 0 alone would not do: it may leave the barrier late.
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  CHECK_MPI(MPI_Barrier(ranks));
  double begin = now();
  work();
  double end = now();
  CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MIN, ranks));
  CHECK_MPI(MPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, ranks));
  return end - begin;
}

/// Measures the rows while each rank stays on one core, the ranks on all in turn. mpirun sees to that by itself, but
/// not with more ranks than cores; then the system may leave two of them on one core, and another idle.
inline std::vector<cookbook::Timing> measure_pinned(int rank, const std::vector<cookbook::Row>& rows, int rounds) {
  cookbook::pin(rank);
  std::vector<cookbook::Timing> timings = cookbook::measure_in_turns(rows, rounds);
  cookbook::unpin();
  return timings;
}

/// Both forms of a time step on `count` ranks, beside the work alone: as fast as messages are here, and over a slower
/// network in play.
inline void overlap(const mpi::Session& session, int count, int side, int link_us, cookbook::Checks& checks) {
  const Plate plate{disc_and_bar, side, side};
  FirstRanks(count, session).run([&](MPI_Comm ranks) {
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
    const std::string slow = fmt::format("over a link of {} us: ", link_us);
    const auto row = [&](const std::string& name, double steps, auto work) {
      return cookbook::Row(name, steps, [ranks, work] { return seconds_of(ranks, work); });
    };
    const auto step = [&](const std::string& name, void (*form)(Tile&), Tile& tile) {
      return row(name, 1, [&tile, form] { form(tile); });
    };
    const std::vector<cookbook::Row> rows = {
        row("work alone, which is wrong", 1, only_work),
        step("exchange, then work", exchange_then_work, before),
        step("exchange during work", exchange_during_work, during),
        step(slow + "exchange, then work", exchange_then_work, slow_before),
        step(slow + "exchange during work", exchange_during_work, slow_during),
        row("exchange alone", exchanges, only_exchange),
    };
    const std::vector<cookbook::Timing> timings = measure_pinned(session.rank(), rows, rounds);
    std::vector<Grid> results;
    for (Tile* tile : {&before, &during, &slow_before, &slow_during}) results.push_back(tile->collect());
    if (session.rank() != 0) return;

    std::vector<long> differing;
    const Grid expected = in_one_process(plate, timings[0].repeats + 1);  // the first does not count
    for (const Grid& result : results) differing.push_back(result.differing(expected));
    checks.equal("cells that differ after the timed steps, four ways", differing, {0, 0, 0, 0});

    cookbook::Figures times(fmt::format("a step of {0} x {0} cells, ranks: {1}", side, count),
                            cookbook::cost("us", 1e-6));
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) times.add(rows[i].name, timings[i], rows[i].amount);
    times.percent_of(rows[0].name, "work");
    times.print(checks);
    if (!checks.passed()) return;
    // Other programs only ever add to a time, so the shortest one says most.
    cookbook::println("an exchange alone takes {:.2f} us", timings[5].minimum / exchanges * 1e6);
    if (link_us == 0) return;
    cookbook::println("of one over the link the work hides {:.0f} %",
                      100 * (timings[3].minimum - timings[4].minimum) / link);
  });
}

/// From one rank to all, a row each, beside the serial code and the machine's memory. `plate_for(n)` is the plate that
/// n ranks have. Returns, on rank 0, how many cells differ from the serial code's after the timed steps, for those
/// numbers of ranks whose plate is the serial code's.
template <typename PlateFor>
std::vector<long> scaling(const mpi::Session& session, cookbook::Figures& rates, PlateFor plate_for) {
  std::vector<std::unique_ptr<FirstRanks>> groups;
  for (int count = 1; count <= session.ranks(); ++count) {
    groups.push_back(std::make_unique<FirstRanks>(count, session));
  }
  const auto group_of = [&](int count) -> const FirstRanks& { return *groups[static_cast<std::size_t>(count - 1)]; };
  // All ranks measure all rows; those that have no part in one sleep meanwhile.
  const auto row = [&](const std::string& name, int count, auto work) {
    return cookbook::Row(name, plate_for(count).cells(), [&ranks = group_of(count), work] {
      double seconds = 0;
      ranks.run([&](MPI_Comm comm) { seconds = seconds_of(comm, work); });
      return seconds;
    });
  };

  const int cores = with_a_core(session.ranks());
  // What a time step does to memory, and next to nothing else: each cell is read once and written once.
  const std::size_t share = static_cast<std::size_t>(plate_for(cores).cells()) / static_cast<std::size_t>(cores);
  const std::vector<double> from(session.rank() < cores ? share : 0, 20.0);
  std::vector<double> to = from;
  const auto pass = [&] {
    std::transform(from.begin(), from.end(), to.begin(), [](double cell) { return 0.5 * cell; });
    cookbook::keep(to.data());
  };
  const Plate one = plate_for(1);
  Grid now(one, session.rank() == 0 ? one.area() : nowhere), next = now;
  const auto serial_step = [&] {
    work(now, next, one.area());
    std::swap(now, next);
  };
  std::vector<cookbook::Row> rows = {row("memory read and written", cores, pass), row("serial code", 1, serial_step)};
  std::vector<std::unique_ptr<Tile>> tiles;  // of this rank, from its first number of ranks on
  for (int count = 1; count <= session.ranks(); ++count) {
    group_of(count).run([&](MPI_Comm ranks) { tiles.push_back(std::make_unique<Tile>(ranks, plate_for(count))); });
    rows.push_back(row(fmt::format("ranks: {}", count), count,
                       [tile = tiles.empty() ? nullptr : tiles.back().get()] { exchange_during_work(*tile); }));
  }

  const std::vector<cookbook::Timing> timings = measure_pinned(session.rank(), rows, 9);
  for (std::size_t i = 0; i < rows.size(); ++i) rates.add(rows[i].name, timings[i], rows[i].amount);
  rates.percent_of(rows[0].name, "memory");
  rates.times(rows[1].name, "serial");

  std::vector<long> differing;
  auto tile = tiles.begin();
  for (int count = 1; count <= session.ranks(); ++count) {
    group_of(count).run([&](MPI_Comm) {
      Tile& mine = **tile++;
      if (plate_for(count).cells() != one.cells()) return;
      const Grid result = mine.collect();
      if (session.rank() == 0) differing.push_back(result.differing(now));
    });
  }
  return differing;
}

/// The same plate for all numbers of ranks, then one that grows with them.
inline void strong_and_weak(const mpi::Session& session, int side, cookbook::Checks& checks) {
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
  checks.equal(fmt::format("cells that differ after the timed steps, ranks 1 to {}", session.ranks()), differing,
               std::vector<long>(differing.size(), 0));
  strong.print(checks);
  weak.print(checks);
}

}  // namespace halo

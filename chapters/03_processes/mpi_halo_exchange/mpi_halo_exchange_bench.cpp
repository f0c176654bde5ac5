// Halo exchange, measured
//
// A time step with the exchange before the work and during it, beside the work alone and the exchange alone. Then the
// same plate on more and more ranks (strong scaling), and a plate that grows with them (weak scaling), beside the
// serial code, and beside a loop on all cores that only reads and writes as much memory.
//
// Compile: mpicxx -std=c++20 -O3 -march=native -Icommon chapters/03_processes/mpi_halo_exchange/mpi_halo_exchange_bench.cpp common/cookbook/*.cpp -lfmt -o mpi_halo_exchange_bench
// Run:     mpirun -n 4 mpi_halo_exchange_bench [--side N] [--rounds N]

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "plate.hpp"
#include "tile.hpp"

namespace {

/// The first `count` ranks. The others sleep while these work.
class FirstRanks {
 public:
  FirstRanks(const mpi::Environment& world, int count) : world_(world), count_(count) {
    const int group = world.rank() < count ? 0 : MPI_UNDEFINED;
    MPI_CHECK(MPI_Comm_split(MPI_COMM_WORLD, group, world.rank(), &comm_));
  }
  ~FirstRanks() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  FirstRanks(const FirstRanks&) = delete;
  FirstRanks& operator=(const FirstRanks&) = delete;

  int count() const { return count_; }
  bool include_this_one() const { return comm_ != MPI_COMM_NULL; }
  MPI_Comm comm() const { return comm_; }

  /// A row that these ranks do: `work`, which handles `amount`. The time is that from the first rank's start to the
  /// last one's end, on the clock that all processes of a machine have in common. (A rank that shares its core with
  /// others may leave the barrier late, so its own time would be too short.)
  cookbook::Benchmark row(const std::string& name, double amount, std::function<void()> work) const {
    return {name, amount, [this, work = std::move(work)] {
              double begin = 0, end = 0;
              if (include_this_one()) {
                MPI_CHECK(MPI_Barrier(comm_));
                begin = now();
                work();
                end = now();
                MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MIN, comm_));
                MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, comm_));
              }
              world_.sleeping_barrier();
              return end - begin;
            }};
  }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  const mpi::Environment& world_;
  int count_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// The tile of this rank on the first ranks, if it is one of them.
std::unique_ptr<Tile> tile_on(const FirstRanks& ranks, int rows, int columns) {
  return ranks.include_this_one() ? std::make_unique<Tile>(ranks.comm(), rows, columns) : nullptr;
}

/// Both forms of a time step on so many ranks, on a plate of `side` x `side` cells, beside the work alone and the
/// exchange alone. Returns how many cells were wrong.
long measure_overlap(const mpi::Environment& world, int count, int side, int rounds, cookbook::Figures& times) {
  const FirstRanks ranks(world, count);
  std::vector<std::unique_ptr<Tile>> tiles;
  for (int i = 0; i < 4; ++i) tiles.push_back(tile_on(ranks, side, side));
  Tile *work = tiles[0].get(), *exchange = tiles[1].get(), *before = tiles[2].get(), *during = tiles[3].get();
  int steps = 0;  // the first of them are not measured
  times.measure({ranks.row("work alone, without exchange", 1,
                           [=, &steps] {
                             ++steps;
                             work->work_inside();
                             work->work_at_the_border();
                             work->step();
                           }),
                 ranks.row("exchange alone", 1,
                           [=] {
                             exchange->begin_exchange();
                             exchange->end_exchange();
                           }),
                 ranks.row("exchange, then work", 1, [=] { exchange_then_work(*before); }),
                 ranks.row("exchange during work", 1, [=] { exchange_during_work(*during); })},
                rounds);
  times.percent_of("work alone, without exchange", "work");
  long wrong = 0;
  if (ranks.include_this_one()) {
    const Cells serial = heat_serially(side, side, steps);
    wrong = differing(before->now(), serial) + differing(during->now(), serial);
  }
  return mpi::sum_over_ranks(wrong);
}

/// The same time steps on 1, 2, 4, ... ranks. `plate_for(n)` gives rows and columns of the plate that n ranks have.
/// Returns how many cells were wrong.
template <typename PlateFor>
long measure_scaling(const mpi::Environment& world, int rounds, PlateFor plate_for, cookbook::Figures& rates) {
  std::vector<std::unique_ptr<FirstRanks>> groups;
  for (int count = 1; count < world.size(); count *= 2) {
    groups.push_back(std::make_unique<FirstRanks>(world, count));
  }
  groups.push_back(std::make_unique<FirstRanks>(world, world.size()));

  // The limit: what a time step does to memory, and nothing else, by as many ranks as have a core.
  const auto cores = std::clamp(cookbook::allowed_processors(), 1, world.size());
  const FirstRanks with_a_core(world, cores);
  const auto cells_of = [&](int count) {
    const auto [rows, columns] = plate_for(count);
    return static_cast<double>(rows) * columns;
  };
  const std::vector<double> from(with_a_core.include_this_one() ? static_cast<std::size_t>(cells_of(cores) / cores) : 0,
                                 20.0);
  std::vector<double> to(from.size());
  const auto [rows, columns] = plate_for(1);
  Cells now({1, rows + 1, 1, columns + 1}), next = now;
  std::vector<cookbook::Benchmark> table = {with_a_core.row("memory read and written", cells_of(cores),
                                                            [&] {
                                                              std::transform(from.begin(), from.end(), to.begin(),
                                                                             [](double cell) { return 0.5 * cell; });
                                                              cookbook::do_not_optimize(to.data());
                                                            }),
                                            groups[0]->row("serial code", cells_of(1), [&] {
                                              heat(now, next, now.area());
                                              std::swap(now, next);
                                            })};
  std::vector<std::unique_ptr<Tile>> tiles;
  std::vector<int> steps(groups.size());  // the first of them are not measured
  for (const auto& group : groups) {
    const auto [its_rows, its_columns] = plate_for(group->count());
    tiles.push_back(tile_on(*group, its_rows, its_columns));
    table.push_back(group->row(fmt::format("ranks: {}", group->count()), cells_of(group->count()),
                               [tile = tiles.back().get(), &made = steps[tiles.size() - 1]] {
                                 exchange_during_work(*tile);
                                 ++made;
                               }));
  }
  rates.measure(table, rounds);
  rates.speedup_over("serial code", "serial");

  long wrong = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto [its_rows, its_columns] = plate_for(groups[i]->count());
    if (tiles[i]) wrong += differing(tiles[i]->now(), heat_serially(its_rows, its_columns, steps[i]));
    world.sleeping_barrier();
  }
  return mpi::sum_over_ranks(wrong);
}

}  // namespace

int main(int argc, char** argv) {
  int side = 2048, rounds = 11;
  cookbook::Options options("Measure time steps with a halo exchange");
  options.add("side", side, "rows and columns of the plate", 64, 8192);
  options.add("rounds", rounds, "times that each row is measured", 1, 1000);
  options.parse(argc, argv);

  const mpi::Environment world;
  cookbook::pin(world.rank());  // mpirun does this itself, but not if there are more ranks than cores
  const int cores = std::clamp(cookbook::allowed_processors(), 1, world.size()), part = side / 2;
  cookbook::Figures times(fmt::format("a step of {0} x {0} cells, ranks: {1}", part, cores),
                          cookbook::cost("us", 1e-6));
  cookbook::Figures strong(fmt::format("strong scaling, {0} x {0} cells", side), cookbook::rate("M cells/s", 1e6));
  cookbook::Figures weak(fmt::format("weak scaling, {0} x {0} cells per rank", part), cookbook::rate("M cells/s", 1e6));
  const long wrong = measure_overlap(world, cores, part, rounds, times);
  const long wrong_strong = measure_scaling(
      world, rounds,
      [=](int) {
        return std::pair{side, side};
      },
      strong);
  const long wrong_weak = measure_scaling(
      world, rounds,
      [=](int count) {
        int grid[2] = {0, 0};
        MPI_CHECK(MPI_Dims_create(count, 2, grid));
        return std::pair{part * grid[0], part * grid[1]};
      },
      weak);
  cookbook::Checks checks;
  if (world.rank() == 0) {
    checks.equal("wrong cells, exchange before and during the work", wrong, 0L);
    checks.equal("wrong cells, strong scaling", wrong_strong, 0L);
    checks.equal("wrong cells, weak scaling", wrong_weak, 0L);
    times.print(checks);
    strong.print(checks);
    weak.print(checks);
  }
  return world.exit_code(checks);
}

// Halo exchange
//
// Heat spreads over a plate: in each time step a cell takes a little of its four neighbours' temperatures. The plate is
// cut into tiles, one for each rank. Cells at a tile's border have neighbours that another rank has, so before each
// step the ranks exchange their border cells. While these are on their way, each rank works on the cells that need none
// of them. The result has the same bits as that of the serial program, for any number of ranks. The exchange and both
// forms of a time step are in tile.hpp. The pitfall, mpi_halo_exchange_early.cpp, does not wait for the exchange's end.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_halo_exchange/mpi_halo_exchange.cpp common/cookbook/*.cpp -lfmt -o mpi_halo_exchange
// Run:     mpirun -n 4 mpi_halo_exchange [--rows N] [--columns N] [--steps N] [--out FILE.svg] [and those of --help]

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "mpi_session.hpp"
#include "picture.hpp"
#include "plate.hpp"
#include "tile.hpp"
#include "timing.hpp"

namespace {

/// The plate by 1, 2, ... ranks, in both forms, against the serial result; that is returned on rank 0.
halo::Grid compare_bits(const mpi::Session& session, const halo::Plate& plate, int steps, cookbook::Checks& checks) {
  const halo::Grid expected =
      session.rank() == 0 ? halo::in_one_process(plate, steps) : halo::Grid(plate, halo::nowhere);
  session.meet_asleep();
  const auto differing = [&](void (*time_step)(halo::Tile&)) {
    std::vector<long> counts;
    for (int count = 1; count <= session.ranks(); ++count) {
      halo::FirstRanks(count, session).run([&](MPI_Comm ranks) {
        const halo::Grid result = halo::by_ranks(ranks, plate, steps, time_step);
        if (session.rank() == 0) counts.push_back(result.differing(expected));
      });
    }
    return counts;
  };
  const std::vector<long> then = differing(halo::exchange_then_work), during = differing(halo::exchange_during_work);
  if (session.rank() != 0) return expected;
  cookbook::println("cells that differ from the serial result in any bit, with 1 to {} ranks:", session.ranks());
  checks.equal("exchange, then work", then, std::vector<long>(then.size(), 0));
  checks.equal("exchange during work", during, std::vector<long>(during.size(), 0));
  return expected;
}

/// Who has which cells, and who is whose neighbour. Returns the tiles of all ranks.
std::vector<halo::Area> tell_tiles(const mpi::Session& session, const halo::Plate& plate) {
  const halo::Topology topology(MPI_COMM_WORLD);
  std::vector<halo::Area> tiles;
  for (int rank = 0; rank < session.ranks(); ++rank) tiles.push_back(topology.part_of(plate, rank));

  const halo::Area& tile = tiles[static_cast<std::size_t>(session.rank())];
  std::string neighbours;
  const auto tell = [&](const char* where, int rank) {
    if (rank != MPI_PROC_NULL) neighbours += fmt::format(", {} {}", where, rank);
  };
  tell("above", topology.above);
  tell("below", topology.below);
  tell("left", topology.left);
  tell("right", topology.right);
  session.print_in_order(fmt::format("rank {}: rows {} to {}, columns {} to {}; neighbours{}", session.rank(), tile.top,
                                     tile.bottom - 1, tile.left, tile.right - 1,
                                     neighbours.empty() ? ": none" : neighbours.substr(1)));
  return tiles;
}

/// A wave whose temperatures a formula gives.
void compare_formula(const mpi::Session& session, int rows, int columns, int steps, cookbook::Checks& checks) {
  const halo::Grid wave =
      halo::by_ranks(MPI_COMM_WORLD, {halo::sine_wave, rows, columns}, steps, halo::exchange_during_work);
  if (session.rank() != 0) return;
  const double left = std::pow(halo::sine_wave_left(rows, columns), steps);
  double largest = 0;
  for (int row = 1; row <= rows; ++row) {
    for (int column = 1; column <= columns; ++column) {
      const double expected = left * halo::sine_wave(row, column, rows, columns);
      largest = std::max(largest, std::abs(*wave.at(row, column) - expected));
    }
  }
  checks.that("a sine wave shrinks as the formula says, error below 1e-9", largest < 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  int rows = 203, columns = 301, steps = 500, side = 2048, link_us = 200, timed_ranks = 0;
  std::string out;
  cookbook::Options options("Spread heat over a plate that is cut into tiles, one for each rank");
  options.add("rows", rows, "rows of the plate that is compared and drawn", 1, 4000);
  options.add("columns", columns, "its columns", 1, 4000);
  options.add("steps", steps, "its time steps", 0, 1'000'000);
  options.add("side", side, "rows and columns of the plate that is timed", 16, 4096);
  options.add("link-us", link_us, "how long an exchange takes over the slow network in play, in us", 0, 100'000);
  options.add("timed-ranks", timed_ranks, "ranks on which both forms are timed; 0: as many as have a core", 0, 1000);
  options.add("out", out, "file for a picture of the result, SVG; none if not given");
  options.parse(argc, argv);

  const mpi::Session session;
  if (std::min({rows, columns, side / 2}) < session.ranks()) {
    return session.refuse(
        fmt::format("{} ranks are too many: each side of a plate must have a cell for each of them", session.ranks()));
  }

  cookbook::Checks checks;
  const halo::Plate plate{halo::disc_and_bar, rows, columns};
  const std::vector<halo::Area> tiles = tell_tiles(session, plate);
  const halo::Grid result = compare_bits(session, plate, steps, checks);
  compare_formula(session, rows, columns, steps, checks);
  if (session.rank() == 0 && !out.empty() && checks.passed()) halo::draw(out, result, tiles);
  const int count = timed_ranks > 0 ? std::min(timed_ranks, session.ranks()) : halo::with_a_core(session.ranks());
  halo::overlap(session, count, side / 2, link_us, checks);
  halo::strong_and_weak(session, side, checks);
  return session.exit_code(checks);
}

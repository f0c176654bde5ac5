// The halo read too early
//
// MPI_Irecv and MPI_Isend only begin. This program works on the border cells before MPI_Waitall, so it reads the halo
// of an earlier step. No call returns an error, and with one rank, which has no halo, the result is right.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_halo_exchange/mpi_halo_exchange_early.cpp common/cookbook/*.cpp -lfmt -o mpi_halo_exchange_early
// Run:     mpirun -n 4 mpi_halo_exchange_early
// Symptom: exit 1, prints "ranks: 4, cells that differ from the serial result:"

#include <vector>

#include "mpi_session.hpp"
#include "plate.hpp"
#include "tile.hpp"

namespace {

void too_early(halo::Tile& tile) {
  tile.begin_exchange();
  tile.work(tile.inner());
  for (const halo::Area& strip : tile.borders()) tile.work(strip);  // the fault: before end_exchange()
  tile.end_exchange();
  tile.step_on();
}

}  // namespace

int main() {
  const mpi::Session session;
  const halo::Plate plate{halo::disc_and_bar, 203, 301};
  constexpr int steps = 100;
  const halo::Grid expected = halo::in_one_process(plate, steps);
  const auto tell = [&](int ranks, const halo::Grid& result) {
    const long differing = result.differing(expected);
    cookbook::println("ranks: {}, cells that differ from the serial result: {}", ranks, differing);
    return differing;
  };

  // Each rank by itself, then all together.
  const halo::Grid alone = halo::by_ranks(MPI_COMM_SELF, plate, steps, too_early);
  const halo::Grid together = halo::by_ranks(MPI_COMM_WORLD, plate, steps, too_early);
  if (session.rank() != 0) return 0;
  return tell(1, alone) + tell(session.ranks(), together) > 0 ? 1 : 0;
}

// A counter by get and put
//
// Every rank adds 1 to a counter in the window of rank 0: it gets the number, adds 1 and puts it back. Each of the two
// transfers has the counter's lock for itself, so no call is wrong. But between them any other rank may get the same
// number, and then both put the same one back. The barrier makes this happen every time; without it, it would happen
// now and then. MPI_Accumulate or MPI_Fetch_and_op in place of get and put would lose nothing.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_one_sided/mpi_one_sided_lost_updates.cpp common/cookbook/*.cpp -lfmt -o mpi_one_sided_lost_updates
// Run:     mpirun -n 4 mpi_one_sided_lost_updates
// Symptom: exit 1, prints "counted by get and put: 1"

#include "cookbook/checks.hpp"
#include "mpi_session.hpp"
#include "window.hpp"

namespace {

using one_sided::Window;

void count_by_get_and_put(MPI_Win counter) {
  int number = 0;
  CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, counter));
  CHECK_MPI(MPI_Get(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, counter));
  CHECK_MPI(MPI_Win_unlock(0, counter));  // the fault: number is here, the counter is anybody's
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  ++number;
  CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, counter));
  CHECK_MPI(MPI_Put(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, counter));
  CHECK_MPI(MPI_Win_unlock(0, counter));
}

void count_by_accumulate(MPI_Win counter) {
  const int one = 1;
  CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, counter));
  CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, counter));
  CHECK_MPI(MPI_Win_unlock(0, counter));
}

/// What the counter of rank 0 holds when every rank has counted once; 0 elsewhere. Called by all.
int counted(void (*count)(MPI_Win), const mpi::Session& session) {
  const Window<int> window(session.rank() == 0 ? 1 : 0);
  count(window.handle());
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  int total = 0;
  window.at_home([&](std::span<int> mine) { total = mine.empty() ? 0 : mine[0]; });
  return total;
}

}  // namespace

int main() {
  const mpi::Session session(2);
  const int by_accumulate = counted(count_by_accumulate, session);
  const int by_get_and_put = counted(count_by_get_and_put, session);
  cookbook::Checks checks;
  if (session.rank() == 0) {
    checks.equal("counted by accumulate", by_accumulate, session.ranks());
    checks.equal("counted by get and put", by_get_and_put, session.ranks());
  }
  return session.exit_code(checks);
}

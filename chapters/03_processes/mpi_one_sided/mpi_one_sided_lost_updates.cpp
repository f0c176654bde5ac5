// Pitfall: a counter by get and put
//
// Every rank adds 1 to a counter in the window of rank 0: it gets the number, adds 1, and puts it back. Each of the two
// transfers locks the window, so no call is wrong. But between them the window is unlocked, and other ranks get the
// same number. The barrier between them makes this happen every time.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_one_sided/mpi_one_sided_lost_updates.cpp common/cookbook/*.cpp -lfmt -o mpi_one_sided_lost_updates
// Run:     mpirun -n 4 mpi_one_sided_lost_updates
// Symptom: exit 1, prints "4 ranks have counted to 1"

#include "cookbook/mpi.hpp"

int main() {
  const mpi::Environment world(2);
  int* mine;
  MPI_Win window;
  MPI_CHECK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window));
  MPI_CHECK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
  *mine = 0;
  MPI_CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));  // publishes the 0
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));                // no rank goes on before

  int number = 0;
  MPI_CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
  MPI_CHECK(MPI_Get(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, window));
  MPI_CHECK(MPI_Win_unlock(0, window));  // wrong: from here on, others may get the same number
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  ++number;
  MPI_CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
  MPI_CHECK(MPI_Put(&number, 1, MPI_INT, 0, 0, 1, MPI_INT, window));
  MPI_CHECK(MPI_Win_unlock(0, window));

  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world.rank(), 0, window));  // to load what others have put here
  int counted = *mine;
  MPI_CHECK(MPI_Win_unlock(world.rank(), window));
  MPI_CHECK(MPI_Bcast(&counted, 1, MPI_INT, 0, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Win_free(&window));
  if (world.rank() == 0) cookbook::println("{} ranks have counted to {}", world.size(), counted);
  return counted == world.size() ? 0 : 1;
}

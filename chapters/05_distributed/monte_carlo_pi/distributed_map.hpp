/// A map whose tasks the ranks of MPI share out among themselves.
#pragma once

#include <vector>

#include "cookbook/mpi.hpp"

/// The results of task(0), task(1) and so on, in this order and on all ranks. Each task is done by one rank: whichever
/// is free takes the next number. `task` gets a long and returns one. Called by all ranks.
template <typename Task>
std::vector<long> distributed_map(const mpi::Environment& world, int tasks, Task task) {
  // A number in the memory of rank 0, on which all ranks can operate. (The other ranks have one, too; it is not used.)
  long* next = nullptr;
  MPI_Win window;
  MPI_CHECK(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &next, &window));
  MPI_CHECK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
  MPI_CHECK(MPI_Win_lock_all(0, window));  // opens the window to all ranks
  if (world.rank() == 0) *next = 0;
  MPI_CHECK(MPI_Win_sync(window));         // the 0 is stored
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));  // before anybody reads it

  std::vector<long> results(tasks);  // zeros
  for (;;) {
    const long one = 1;
    long mine = 0;
    // At rank 0, place 0 (the two zeros): mine = next, and next += 1.
    MPI_CHECK(MPI_Fetch_and_op(&one, &mine, MPI_LONG, 0, 0, MPI_SUM, window));
    MPI_CHECK(MPI_Win_flush(0, window));  // now `mine` has arrived
    if (mine >= tasks) break;
    results[mine] = task(mine);
  }
  MPI_CHECK(MPI_Win_unlock_all(window));
  MPI_CHECK(MPI_Win_free(&window));

  // Each result is on one rank, and 0 on all others: so the sum over the ranks gives everybody all results.
  MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, results.data(), tasks, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
  return results;
}

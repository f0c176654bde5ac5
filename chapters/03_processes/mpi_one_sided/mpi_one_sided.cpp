// One-sided communication
//
// Each of four ranks opens a window: memory that the others read and write without its help. Every rank puts a number
// into the window of the next rank, gets one from the rank before it, and adds to a sum in the window of rank 0. Then
// the ranks share out tasks that take longer and longer: first in blocks, then by a counter in that window, from which
// whoever is free takes the next one. Last, ranks of the same machine change each other's memory by plain stores.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_one_sided/mpi_one_sided.cpp common/cookbook/*.cpp -lfmt -o mpi_one_sided
// Run:     mpirun -n 4 mpi_one_sided [--tasks N]

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

/// What the integers of each rank's window are for.
enum Place { inbox, sum, counter, places = 4 };

/// Stands for a task: the higher its number, the longer it takes.
void work_on(int task) { std::this_thread::sleep_for(std::chrono::microseconds(40 * task)); }

/// What a rank has done: how often it has taken each task, and how long it took for all of them.
struct Done {
  std::vector<int> taken;
  double seconds = 0;
};

/// Each rank has a block of tasks that lie side by side.
Done work_on_block(int tasks, int rank, int ranks) {
  Done done{std::vector<int>(tasks)};
  const cookbook::Stopwatch watch;
  for (int task = tasks * rank / ranks; task < tasks * (rank + 1) / ranks; ++task) {
    ++done.taken[task];
    work_on(task);
  }
  done.seconds = watch.seconds();
  return done;
}

/// Each rank takes the next task as soon as it is free, until there are none left. The counter lies in the window of
/// rank 0, which makes no call for it.
Done work_by_counter(int tasks, MPI_Win window) {
  Done done{std::vector<int>(tasks)};
  const cookbook::Stopwatch watch;
  MPI_CHECK(MPI_Win_lock_all(0, window));  // an epoch for this rank alone
  while (true) {
    const int one = 1;
    int task = 0;
    MPI_CHECK(MPI_Fetch_and_op(&one, &task, MPI_INT, 0, counter, MPI_SUM, window));
    MPI_CHECK(MPI_Win_flush(0, window));  // now `task` is what the counter was before this rank added 1
    if (task >= tasks) break;
    ++done.taken[task];
    work_on(task);
  }
  MPI_CHECK(MPI_Win_unlock_all(window));
  done.seconds = watch.seconds();
  return done;
}

/// How many tasks all ranks together have taken exactly once. Called by all.
int exactly_once(const std::vector<int>& taken) {
  std::vector<int> by_all(taken.size());
  MPI_CHECK(
      MPI_Allreduce(taken.data(), by_all.data(), static_cast<int>(taken.size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  return static_cast<int>(std::count(by_all.begin(), by_all.end(), 1));
}

/// Each rank stores its number directly in the memory of the next rank of the same machine. Returns whether the number
/// that this rank finds in its own memory is right.
bool store_directly() {
  MPI_Comm machine;  // the ranks that can share memory with this one
  MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine));
  int rank, ranks;
  MPI_CHECK(MPI_Comm_rank(machine, &rank));
  MPI_CHECK(MPI_Comm_size(machine, &ranks));

  int *mine, *theirs, unit;
  MPI_Aint bytes;
  MPI_Win window;
  MPI_CHECK(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, machine, &mine, &window));
  MPI_CHECK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
  MPI_CHECK(MPI_Win_shared_query(window, (rank + 1) % ranks, &bytes, &unit, &theirs));
  // In MPI 3, MPI_Win_sync has to be in an epoch of a lock.
  MPI_CHECK(MPI_Win_lock_all(0, window));
  *theirs = 100 + rank;             // a store like any other
  MPI_CHECK(MPI_Win_sync(window));  // this store is complete
  MPI_CHECK(MPI_Barrier(machine));  // the stores of all other ranks are complete, too
  MPI_CHECK(MPI_Win_sync(window));  // loads after this line see them
  const bool right = *mine == 100 + (rank - 1 + ranks) % ranks;
  MPI_CHECK(MPI_Win_unlock_all(window));
  MPI_CHECK(MPI_Win_free(&window));
  MPI_CHECK(MPI_Comm_free(&machine));
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  int tasks = 64;
  cookbook::Options options("Read and write the memory of other ranks");
  options.add("tasks", tasks, "tasks that are dealt out", 1, 1'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  const int next = (rank + 1) % ranks, previous = (rank - 1 + ranks) % ranks;

  int* mine;
  MPI_Win window;
  // Four places, since MPICH 4.0.2 puts numbers into the window of a wrong rank if a window's size is no multiple of 16
  // bytes.
  MPI_CHECK(MPI_Win_allocate(places * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window));
  MPI_CHECK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));  // errors are returned by the calls, for MPI_CHECK
  std::fill_n(mine, int(places), 0);

  const int sent = 100 + rank, share = rank + 1;
  int got = -1;
  MPI_CHECK(MPI_Win_fence(0, window));  // an epoch begins on all ranks
  MPI_CHECK(MPI_Put(&sent, 1, MPI_INT, next, inbox, 1, MPI_INT, window));
  MPI_CHECK(MPI_Accumulate(&share, 1, MPI_INT, 0, sum, 1, MPI_INT, MPI_SUM, window));
  MPI_CHECK(MPI_Win_fence(0, window));  // it ends: all numbers are there, and not before; the next one begins
  MPI_CHECK(MPI_Get(&got, 1, MPI_INT, previous, inbox, 1, MPI_INT, window));
  MPI_CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));  // it ends: `got` may be read; no other one begins
  const int found = mine[inbox], total = mine[sum];
  world.print_in_order(fmt::format("rank {} put {} at rank {}, found {} in its window, got {} from rank {}", rank, sent,
                                   next, found, got, previous));

  world.sleeping_barrier();
  const Done block = work_on_block(tasks, rank, ranks);
  world.sleeping_barrier();
  const Done shared = work_by_counter(tasks, window);
  world.sleeping_barrier();  // ranks that are done sleep, and take no time from those that are not
  world.print_in_order(fmt::format("rank {}: {} tasks as a block in {:.1f} ms, {} tasks by the counter in {:.1f} ms",
                                   rank, std::reduce(block.taken.begin(), block.taken.end()), block.seconds * 1e3,
                                   std::reduce(shared.taken.begin(), shared.taken.end()), shared.seconds * 1e3));
  const std::vector<int> times_taken = {exactly_once(block.taken), exactly_once(shared.taken)};
  MPI_CHECK(MPI_Win_free(&window));

  const long put = mpi::sum_over_ranks(found == 100 + previous);
  const long fetched = mpi::sum_over_ranks(got == 100 + (rank - 2 + 2 * ranks) % ranks);
  const long stored = mpi::sum_over_ranks(store_directly());
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("ranks that found the right number, got it, found what was stored", std::vector{put, fetched, stored},
                 {ranks, ranks, ranks});
    checks.equal("sum in the window of rank 0", total, ranks * (ranks + 1) / 2);
    checks.equal("tasks taken exactly once, in blocks and by the counter", times_taken, {tasks, tasks});
  }
  return world.exit_code(checks);
}

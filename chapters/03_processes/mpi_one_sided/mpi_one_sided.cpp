// One-sided communication
//
// Four ranks share out tasks that take longer and longer: first in blocks, then by a counter in the memory of rank 0,
// from which a rank that is free takes the next one. Rank 0 works on tasks, too, and makes no call to serve the
// others. On one machine they change its memory by themselves. In the end each rank writes into that memory what it
// has done.
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

/// Stands for a task: the higher its number, the longer it takes.
void work_on(int task) { std::this_thread::sleep_for(std::chrono::microseconds(40 * task)); }

/// How long the tasks from `first` on and before `end` take together, by calculation.
double ms_from(int first, int end) { return 0.04 * (end - first) * (first + end - 1) / 2; }

/// What a rank has done: how often it has taken each task, and how long it took for all of them.
struct Done {
  std::vector<int> taken;
  double seconds = 0;
  int tasks() const { return std::reduce(taken.begin(), taken.end()); }
  int microseconds() const { return static_cast<int>(seconds * 1e6); }
};

/// The window is an array of integers in the memory of rank 0: the counter and, from place 4 on, a report per rank of
/// four numbers.
constexpr int counter = 0, report_size = 4;
int report_of(int rank) { return 4 + report_size * rank; }

/// Each rank takes the next task as soon as it is free, until there are none left.
Done work_by_counter(int tasks, MPI_Win window) {
  Done done{std::vector<int>(tasks)};
  const cookbook::Stopwatch watch;
  MPI_CHECK(MPI_Win_lock_all(0, window));  // begins an epoch; no other rank has to call it now
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

/// How many tasks all ranks together have taken exactly once. Called by all.
int exactly_once(const std::vector<int>& taken) {
  std::vector<int> by_all(taken.size());
  MPI_CHECK(
      MPI_Allreduce(taken.data(), by_all.data(), static_cast<int>(taken.size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  return static_cast<int>(std::count(by_all.begin(), by_all.end(), 1));
}

/// Prints the reports in the window, a row per rank. Returns how many tasks they name, in blocks and by the counter.
std::vector<int> print_reports(const int* memory, int ranks, int tasks) {
  std::vector<int> reported(2);
  double longest[2] = {};
  cookbook::println("               a block for each rank   by the counter of rank 0");
  for (int rank = 0; rank < ranks; ++rank) {
    const int* const report = memory + report_of(rank);
    const double ms[2] = {report[1] * 1e-3, report[3] * 1e-3};
    cookbook::println("rank {:<4}{:9} tasks in {:5.1f} ms{:9} tasks in {:5.1f} ms", rank, report[0], ms[0], report[2],
                      ms[1]);
    for (const int form : {0, 1}) {
      reported[form] += report[2 * form];
      longest[form] = std::max(longest[form], ms[form]);
    }
  }
  const int last_block = tasks * (ranks - 1) / ranks;  // the first task of the block that takes longest
  const double work = ms_from(0, tasks), most_work = ms_from(last_block, tasks);
  cookbook::println("all are done after{:15.1f} ms{:24.1f} ms", longest[0], longest[1]);
  cookbook::println("calculated, at least{:13.1f} ms{:24.1f} ms", most_work, work / ranks);
  return reported;
}

}  // namespace

int main(int argc, char** argv) {
  int tasks = 64;
  cookbook::Options options("Change the memory of another rank without its help");
  options.add("tasks", tasks, "tasks that are dealt out", 1, 1'000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();

  // The size is a multiple of 16 bytes, since MPICH 4.0.2 puts numbers at a wrong place otherwise.
  const int places = rank == 0 ? report_of(ranks) : 0;  // the others have no memory in the window
  int* memory;
  MPI_Win window;
  MPI_CHECK(MPI_Win_allocate(places * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
  MPI_CHECK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));  // errors are returned by the calls, for MPI_CHECK
  std::fill_n(memory, places, 0);
  MPI_CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));  // publishes the zeros; after the barrier all ranks go on

  world.sleeping_barrier();
  const Done block = work_on_block(tasks, rank, ranks);
  world.sleeping_barrier();
  const Done shared = work_by_counter(tasks, window);
  world.sleeping_barrier();  // ranks that are done sleep, and take no time from those that are not

  const int report[report_size] = {block.tasks(), block.microseconds(), shared.tasks(), shared.microseconds()};
  MPI_CHECK(MPI_Win_fence(0, window));  // an epoch begins on all ranks
  MPI_CHECK(MPI_Put(report, report_size, MPI_INT, 0, report_of(rank), report_size, MPI_INT, window));
  MPI_CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));  // it ends: all reports are there, and not before

  const std::vector<int> reported = rank == 0 ? print_reports(memory, ranks, tasks) : std::vector<int>();
  const std::vector<int> times_taken = {exactly_once(block.taken), exactly_once(shared.taken)};
  MPI_CHECK(MPI_Win_free(&window));

  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("tasks taken exactly once, in blocks and by the counter", times_taken, {tasks, tasks});
    checks.equal("tasks in the reports that the ranks have put there", reported, {tasks, tasks});
  }
  return world.exit_code(checks);
}

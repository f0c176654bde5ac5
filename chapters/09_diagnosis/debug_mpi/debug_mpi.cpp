// Finding the rank that others wait for
//
// Two programs of four ranks hang, each by another fault. The functions of call_watch.hpp stand between program and MPI
// library, and note in shared memory which call each rank is in. When no rank has moved for a while, rank 0 prints
// where each one is, and the first collective call that is not the same on all ranks. This program starts the two,
// prints their reports, and ends them.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/09_diagnosis/debug_mpi/debug_mpi.cpp common/cookbook/*.cpp -lfmt -o debug_mpi
// Run:     debug_mpi [--fault WORD]

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "call_watch.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "ranks.hpp"

namespace {

/// Rank 1 sends a number to rank 2.
void send_with_another_tag(int rank) {
  int number = 42;
  if (rank == 1) MPI_CHECK(MPI_Send(&number, 1, MPI_INT, 2, 7, MPI_COMM_WORLD));
  if (rank == 2) MPI_CHECK(MPI_Recv(&number, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));  // the fault: 8
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
}

/// Six items, two on each of the first three ranks: rank 3 has none.
void skip_a_collective_call(int rank) {
  int items = rank < 3 ? 2 : 0, total = 0;
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  if (items > 0) {  // the fault: who has nothing to add has to make the call, too
    MPI_CHECK(MPI_Allreduce(&items, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  }
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
}

/// With --fault root, and without a hang: rank 0 tells all ranks a number. Returns what this rank knows then.
int name_another_root(int rank) {
  int number = rank == 0 ? 42 : 0;
  const int root = rank == 3 ? 3 : 0;  // the fault: rank 3 names itself
  MPI_CHECK(MPI_Bcast(&number, 1, MPI_INT, root, MPI_COMM_WORLD));
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  return number;
}

/// With --fault compute, which is none: rank 1 works for ten seconds, while the others wait for it.
void compute_for_long(int rank) {
  if (rank == 1) std::this_thread::sleep_for(std::chrono::seconds(10));
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
}

/// What one of the four ranks does.
int run_rank(const std::string& fault) {
  const mpi::Environment world(4);
  if (fault == "tag") send_with_another_tag(world.rank());
  if (fault == "skip") skip_a_collective_call(world.rank());
  if (fault == "compute") compute_for_long(world.rank());
  if (fault == "root") {
    const int number = name_another_root(world.rank());
    world.print_in_order(fmt::format("rank {} has {}", world.rank(), number));
  }
  return 0;
}

/// Starts four ranks with a fault, and returns the lines of their report. The last report counts: while the ranks are
/// still starting, on a busy machine, there may be an earlier one.
std::vector<std::string> report_of(const std::string& fault) {
  cookbook::ChildProgram job(debug_mpi::mpirun({"--fault", fault}));
  job.read_until("no rank has moved");
  for (int i = 0; i < 5; ++i) job.read_line();
  job.read_all(std::chrono::milliseconds(600));  // until nothing has come for so long
  const std::vector<std::string> lines(job.lines().end() - 6, job.lines().end());
  job.stop(SIGTERM);  // mpirun ends its ranks
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  std::string fault = "all";
  cookbook::Options options("Which rank is in which call?");
  options.add_choice("fault", fault, "the one to make, as four ranks", {"all", "tag", "skip", "root", "compute"});
  options.parse(argc, argv);
  if (debug_mpi::is_rank()) return run_rank(fault);
  if (fault != "all") cookbook::become_program(debug_mpi::mpirun({"--fault", fault}));

  const auto print = [](const std::string& title, const std::vector<std::string>& lines) {
    cookbook::println("{}", title);
    for (const std::string& line : lines) cookbook::println("  {}", line);
  };
  const std::vector<std::string> tag = report_of("tag"), skip = report_of("skip");
  print("rank 2 receives with another tag", tag);
  print("rank 3 skips a collective call", skip);

  cookbook::Checks checks;
  const auto has_line = [](const std::vector<std::string>& report, std::string_view line) {
    return std::find(report.begin(), report.end(), line) != report.end();
  };
  const int naming = has_line(tag, "rank 2  MPI_Recv from 1, tag 8") +
                     has_line(skip, "collective call 2 differs: MPI_Allreduce by 0, 1, 2; MPI_Barrier by 3");
  checks.equal("reports that name the fault", naming, 2);
  return checks.exit_code();
}

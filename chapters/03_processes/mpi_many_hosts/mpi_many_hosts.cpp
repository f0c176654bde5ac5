// Ranks on many hosts
//
// Each rank says on which host it runs, sends the host's name to the next rank, and measures how long a byte takes to
// the rank before and back: on some of these ways a host's border is crossed. Nothing in this program depends on where
// the ranks are: mpirun starts them on the hosts that a file names. Only ranks of the same host can share memory, and
// the program asks MPI which ones these are.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_many_hosts/mpi_many_hosts.cpp common/cookbook/*.cpp -lfmt -o mpi_many_hosts
// Run:     mpirun --hostfile HOSTS mpi_many_hosts; HOSTS is a file with a line "NAME slots=RANKS" per host

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"

namespace {

/// The time of a byte from this rank to the one before and back, in us: the shortest of 100. All ranks call this. The
/// pairs take turns; the other ranks wait in the barrier meanwhile, which may take time of the cores that they share.
double there_and_back(int rank, int ranks) {
  double shortest = 1e9;
  char byte = 'x', echo;
  for (int from = 0; from < ranks; ++from) {
    const int to = (from - 1 + ranks) % ranks;
    for (int i = 0; i < 100; ++i) {
      if (rank == from) {
        const double start = MPI_Wtime();
        MPI_CHECK(
            MPI_Sendrecv(&byte, 1, MPI_CHAR, to, 0, &echo, 1, MPI_CHAR, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        shortest = std::min(shortest, 1e6 * (MPI_Wtime() - start));
      } else if (rank == to) {
        MPI_CHECK(MPI_Recv(&byte, 1, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI_CHECK(MPI_Send(&byte, 1, MPI_CHAR, from, 0, MPI_COMM_WORLD));
      }
    }
    MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  }
  return shortest;
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Say on which host each rank runs");
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();
  const int next = (rank + 1) % ranks, previous = (rank - 1 + ranks) % ranks;

  constexpr int size = MPI_MAX_PROCESSOR_NAME;
  char host[size] = {}, received[size] = {};
  int length = 0;  // of the name; the whole array is sent, since the next rank does not know the length
  MPI_CHECK(MPI_Get_processor_name(host, &length));
  MPI_CHECK(MPI_Sendrecv(host, size, MPI_CHAR, next, 0, received, size, MPI_CHAR, previous, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE));

  MPI_Comm machine;  // the ranks that can share memory with this one: those of the same host
  MPI_CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine));
  int rank_on_host = 0;
  MPI_CHECK(MPI_Comm_rank(machine, &rank_on_host));
  MPI_CHECK(MPI_Comm_free(&machine));

  const double us = there_and_back(rank, ranks);
  const char* way = std::string(host) == received ? "within the host" : "between hosts";
  world.print_in_order(fmt::format("rank {} ({} of {}) to rank {} on {} and back: {:5.1f} us {}", rank, rank_on_host,
                                   host, previous, received, us, way));

  const std::vector<std::string> hosts = world.gather(host), told = world.gather(received);
  const long groups = mpi::sum_over_ranks(rank_on_host == 0);
  cookbook::Checks checks;
  if (rank == 0) {
    int right = 0;
    for (int i = 0; i < ranks; ++i) right += told.at((i + 1) % ranks) == hosts.at(i);
    checks.equal("ranks that know the host of the rank before", right, ranks);
    checks.equal("groups of ranks that can share memory, one per host", groups,
                 static_cast<long>(std::set(hosts.begin(), hosts.end()).size()));
  }
  return world.exit_code(checks);
}

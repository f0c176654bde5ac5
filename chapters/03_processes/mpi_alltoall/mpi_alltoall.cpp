// All-to-all
//
// Every rank has a piece for every other rank: rank i sends the number (i + 1) * j to rank j. If one writes what the
// ranks send as the rows of a matrix, then what they receive are the rows of the transposed matrix. MPI_Alltoall does
// this in one call. Beside it stands what such a call can do inside: in each step every rank sends to one other rank
// and receives from one.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_alltoall/mpi_alltoall.cpp common/cookbook/*.cpp -lfmt -o mpi_alltoall
// Run:     mpirun -n 5 mpi_alltoall [--length N]

#include <cstdint>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/mpi.hpp"
#include "cookbook/options.hpp"
#include "exchange_in_steps.hpp"

int main(int argc, char** argv) {
  int length = 1;
  cookbook::Options options("Exchange pieces between all ranks");
  options.add("length", length, "numbers that each rank sends to each other rank", 1, 1000);
  options.parse(argc, argv);

  const mpi::Environment world;
  const int rank = world.rank(), ranks = world.size();

  // Number k of the piece that one rank sends to another.
  const auto number = [](int from, int to, int k) { return (from + 1) * to + 1000 * k; };
  std::vector<std::int64_t> sent, expected;
  for (int other = 0; other < ranks; ++other) {
    for (int k = 0; k < length; ++k) {
      sent.push_back(number(rank, other, k));
      expected.push_back(number(other, rank, k));
    }
  }

  std::vector<std::int64_t> received(sent.size());
  MPI_CHECK(MPI_Alltoall(sent.data(), length, MPI_INT64_T, received.data(), length, MPI_INT64_T, MPI_COMM_WORLD));
  world.print_in_order(fmt::format("rank {} sends {}, receives {}", rank, sent, received));

  std::vector<std::int64_t> in_steps(sent.size()), back(sent.size());
  const long messages = mpi::sum_over_ranks(exchange_in_steps(sent, in_steps, rank, ranks));
  MPI_CHECK(MPI_Alltoall(received.data(), length, MPI_INT64_T, back.data(), length, MPI_INT64_T, MPI_COMM_WORLD));

  const long right = mpi::sum_over_ranks(received == expected),
             right_in_steps = mpi::sum_over_ranks(in_steps == expected);
  const long right_back = mpi::sum_over_ranks(back == sent);
  cookbook::Checks checks;
  if (rank == 0) {
    checks.equal("ranks that received their row of the transposed matrix", right, ranks);
    checks.equal("ranks that received this row by messages in steps", right_in_steps, ranks);
    checks.equal("messages in all steps", messages, ranks * (ranks - 1));
    checks.equal("ranks that have their old row again after a second all-to-all", right_back, ranks);
  }
  return world.exit_code(checks);
}

// Pitfall: each rank decides by itself when to stop
//
// The ranks halve a value until it is small, and exchange the sum in every turn. Each looks at its own value alone. So
// they make different numbers of turns: the rank that is ready first goes on to MPI_Gather, while the others wait for
// it in MPI_Allreduce. The report names the call in which they differ.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/09_diagnosis/debug_mpi/debug_mpi_own_decision.cpp common/cookbook/*.cpp -lfmt -o debug_mpi_own_decision
// Run:     debug_mpi_own_decision
// Symptom: hangs

#include <vector>

#include "call_watch.hpp"
#include "cookbook/mpi.hpp"
#include "ranks.hpp"

int main() {
  if (!debug_mpi::is_rank()) cookbook::become_program(debug_mpi::mpirun({}));
  const mpi::Environment world(4);
  double value = world.rank() == 2 ? 1 : 8, sum = 0;
  int turns = 0;
  do {
    value /= 2;
    MPI_CHECK(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    ++turns;
  } while (value > 0.1);  // wrong: the sum is the same on all ranks, this is not

  std::vector<int> all(4);
  MPI_CHECK(MPI_Gather(&turns, 1, MPI_INT, all.data(), 1, MPI_INT, 0, MPI_COMM_WORLD));
  if (world.rank() == 0) cookbook::println("turns: {} {} {} {}, sum {:.3f}", all[0], all[1], all[2], all[3], sum);
}

// Pitfall: a reduction by subtraction
//
// Each worker combines its own results, and rank 0 combines what the workers have. With an addition it does not matter
// who did which task. Here the operator is a subtraction: (a - b) - c and a - (b - c) differ, so the result is not that
// of a plain loop, and changes from run to run.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/05_distributed/distributed_map_reduce/distributed_map_reduce_minus.cpp common/cookbook/*.cpp -lfmt -o distributed_map_reduce_minus
// Run:     mpirun -n 4 distributed_map_reduce_minus
// Symptom: exit 1, prints "the reduction is wrong"

#include "task_farm.hpp"

namespace {

long squared(long a) { return (a + 1) * (a + 1); }  // of the tasks 0 to 999: 1, 4, 9 and so on

}  // namespace

int main() {
  const mpi::Environment world;
  const auto work = [](long a) { return Numbers{squared(a)}; };
  // wrong: a subtraction is not associative
  const auto combine = [](Numbers& sum, const Numbers& more) { sum[0] -= more[0]; };
  const Numbers distributed = map_reduce(world, 1000, work, combine);

  int wrong = 0;
  if (world.rank() == 0) {
    long serial = squared(0);
    for (long a = 1; a < 1000; ++a) serial -= squared(a);
    cookbook::println("plain loop {}, map_reduce {}", serial, distributed[0]);
    wrong = distributed[0] != serial;
    if (wrong) cookbook::println("the reduction is wrong");
  }
  MPI_CHECK(MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD));
  return wrong;
}

// Pitfall: the ranks do not agree on the root
//
// All ranks but one broadcast from rank 0; rank 5 names itself as the root. MPI does not define what happens then. With
// Open MPI 4.1 and these ten ranks no call fails and nothing hangs. But rank 5 keeps its own value, 105, and sends it
// to ranks that do not expect it. The value waits there until the next broadcast, whose root is rank 5. Then it is
// taken for the value of that one, 205.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_broadcast/mpi_broadcast_two_roots.cpp common/cookbook/*.cpp -lfmt -o mpi_broadcast_two_roots
// Run:     mpirun -n 10 mpi_broadcast_two_roots
// Symptom: exit 1, prints "rank 6 got 100, then 105"

#include "cookbook/mpi.hpp"

int main() {
  const mpi::Environment world(6);
  const int rank = world.rank();

  const int root = rank == 5 ? 5 : 0;  // wrong: it must be the same on all ranks
  int first = rank == root ? 100 + rank : -1;
  MPI_CHECK(MPI_Bcast(&first, 1, MPI_INT, root, MPI_COMM_WORLD));

  int second = rank == 5 ? 205 : -1;
  MPI_CHECK(MPI_Bcast(&second, 1, MPI_INT, 5, MPI_COMM_WORLD));

  world.print_in_order(fmt::format("rank {} got {}, then {}", rank, first, second));
  const int wrong_here = first != 100 || second != 205;
  int wrong = 0;
  MPI_CHECK(MPI_Allreduce(&wrong_here, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  return wrong > 0 ? 1 : 0;
}

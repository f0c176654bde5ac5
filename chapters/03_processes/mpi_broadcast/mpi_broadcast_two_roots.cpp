// A broadcast with two roots
//
// Rank 0 is the root of two broadcasts, and all ranks but one say so. Rank 5 takes itself for the root of the first. No
// call returns an error and nothing hangs: rank 5 keeps its own value, and sends it along the tree that it would be the
// root of. Nobody receives that, yet. The second broadcast has rank 5 as its root, on all ranks. Those that receive
// from rank 5 find the message that is still waiting, and take it for the new value.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_broadcast/mpi_broadcast_two_roots.cpp common/cookbook/*.cpp -lfmt -o mpi_broadcast_two_roots
// Run:     mpirun -n 10 mpi_broadcast_two_roots
// Symptom: exit 1, prints "process = 5 first 105 second 205"

#include "collective.hpp"
#include "mpi_session.hpp"

int main() {
  const mpi::Session session(6);
  const int rank = session.rank(), odd_one = 5;

  int root = rank == odd_one ? odd_one : 0;  // the fault: the same on all ranks it must be
  int first = rank == root ? 100 + rank : -1;
  CHECK_MPI(MPI_Bcast(&first, 1, MPI_INT, root, MPI_COMM_WORLD));

  root = odd_one;
  int second = rank == root ? 200 + rank : -1;
  CHECK_MPI(MPI_Bcast(&second, 1, MPI_INT, root, MPI_COMM_WORLD));

  session.print_in_order(fmt::format("process = {} first {} second {}", rank, first, second));
  return collective::everywhere(first == 100 && second == 200 + odd_one) ? 0 : 1;
}

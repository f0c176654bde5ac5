// Pitfall: a variable that one rank sets for all
//
// Rank 0 sets a global variable, and all ranks read it afterwards. With threads each of them would see 1000. Ranks are
// processes: each has a variable of its own, and the one that the others read is still 0. The barrier makes them wait
// for rank 0, but it carries no data.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_hello/mpi_hello_not_shared.cpp common/cookbook/*.cpp -lfmt -o mpi_hello_not_shared
// Run:     mpirun -n 5 mpi_hello_not_shared
// Symptom: exit 1, prints "rank 1 sees 0 intervals"

#include "cookbook/mpi.hpp"

namespace {
long intervals = 0;
}

int main() {
  const mpi::Environment world(2);
  if (world.rank() == 0) intervals = 1000;  // wrong: this is the variable of rank 0 alone
  MPI_CHECK(MPI_Barrier(MPI_COMM_WORLD));
  world.print_in_order(fmt::format("rank {} sees {} intervals", world.rank(), intervals));

  long lowest = 0;
  MPI_CHECK(MPI_Allreduce(&intervals, &lowest, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD));
  return lowest == 1000 ? 0 : 1;
}

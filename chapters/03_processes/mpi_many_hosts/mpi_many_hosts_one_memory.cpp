// Pitfall: all ranks are expected to share memory
//
// MPI_Win_allocate_shared makes memory that all ranks of a communicator have in their address spaces. This program
// takes MPI_COMM_WORLD, which works as long as all ranks are on one host. On several hosts the call is an error: the
// program prints "MPI_Win_allocate_shared: " and the reason, and ends with exit code 3. A communicator from
// MPI_Comm_split_type has the ranks of one host only.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_many_hosts/mpi_many_hosts_one_memory.cpp common/cookbook/*.cpp -lfmt -o mpi_many_hosts_one_memory
// Run:     mpirun --hostfile HOSTS mpi_many_hosts_one_memory

#include "cookbook/mpi.hpp"

int main() {
  const mpi::Environment world;
  int* mine = nullptr;
  MPI_Win window;
  const MPI_Comm sharing = MPI_COMM_WORLD;  // wrong: its ranks may be on several hosts
  MPI_CHECK(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, sharing, &mine, &window));
  MPI_CHECK(MPI_Win_free(&window));
  int ranks = 0;
  MPI_CHECK(MPI_Comm_size(sharing, &ranks));
  if (world.rank() == 0) cookbook::println("ranks that share memory with rank 0, itself included: {}", ranks);
  return 0;
}

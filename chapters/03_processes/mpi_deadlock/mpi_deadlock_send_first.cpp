// Pitfall: both ranks send first
//
// Ranks 1 and 5 exchange a text, and both send before they receive. With one character that works: Open MPI copies
// the message, and both sends return. With a million characters it does not copy. Each send waits for a receive, which
// comes after the other rank's send. The program is wrong with one character, too, but nothing shows it.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_deadlock/mpi_deadlock_send_first.cpp common/cookbook/*.cpp -lfmt -o mpi_deadlock_send_first
// Run:     mpirun -n 6 mpi_deadlock_send_first, then Ctrl-C
// Symptom: hangs

#include <string>

#include "cookbook/mpi.hpp"

int main() {
  const mpi::Environment world(6);
  const int rank = world.rank(), tag = 1;
  for (const int size : {1, 1'000'000}) {
    if (rank != 1 && rank != 5) continue;
    const int partner = rank == 1 ? 5 : 1;
    const std::string mine(static_cast<std::size_t>(size), rank == 1 ? 'a' : 'b');
    std::string theirs(mine.size(), '?');
    // Wrong: one of the two has to receive first, or both have to call MPI_Sendrecv.
    MPI_CHECK(MPI_Send(mine.data(), size, MPI_CHAR, partner, tag, MPI_COMM_WORLD));
    MPI_CHECK(MPI_Recv(theirs.data(), size, MPI_CHAR, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    cookbook::println("rank {} received {} times '{}'", rank, size, theirs[0]);
  }
  world.sleeping_barrier();
}

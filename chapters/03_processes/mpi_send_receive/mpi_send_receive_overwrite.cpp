// Pitfall: data that are overwritten while they are being sent
//
// MPI_Isend only begins a send and returns at once. Until MPI_Wait the data must not be changed; this program changes
// them earlier. A single byte arrives as it was, because Open MPI has copied it by then, so that a small test finds
// nothing. The data of a large message are fetched only when its receiver asks for them, and then they are the new
// ones.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon chapters/03_processes/mpi_send_receive/mpi_send_receive_overwrite.cpp common/cookbook/*.cpp -lfmt -o mpi_send_receive_overwrite
// Run:     mpirun -n 2 mpi_send_receive_overwrite
// Symptom: exit 1, prints "1048576 bytes sent: the last one arrived overwritten"

#include <algorithm>
#include <vector>

#include "cookbook/mpi.hpp"

int main() {
  const mpi::Environment world(2);
  const int rank = world.rank(), data_tag = 1, go_tag = 2;
  bool any_overwritten = false;
  for (const int bytes : {1, 1 << 20}) {
    std::vector<char> data(static_cast<std::size_t>(bytes), 'a');
    char last = 0;
    if (rank == 0) {
      MPI_Request send;
      MPI_CHECK(MPI_Isend(data.data(), bytes, MPI_CHAR, 1, data_tag, MPI_COMM_WORLD, &send));
      std::fill(data.begin(), data.end(), 'b');  // wrong: this belongs after MPI_Wait
      MPI_CHECK(MPI_Send(nullptr, 0, MPI_CHAR, 1, go_tag, MPI_COMM_WORLD));
      MPI_CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    } else if (rank == 1) {
      MPI_CHECK(MPI_Recv(nullptr, 0, MPI_CHAR, 0, go_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));  // is late on purpose
      MPI_CHECK(MPI_Recv(data.data(), bytes, MPI_CHAR, 0, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      last = data.back();
    }
    MPI_CHECK(MPI_Bcast(&last, 1, MPI_CHAR, 1, MPI_COMM_WORLD));
    if (rank == 0)
      cookbook::println("{} bytes sent: the last one arrived {}", bytes, last == 'b' ? "overwritten" : "unchanged");
    any_overwritten = any_overwritten || last == 'b';
  }
  return any_overwritten ? 1 : 0;
}

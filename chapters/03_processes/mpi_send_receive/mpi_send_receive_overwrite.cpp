// Data overwritten while they are being sent
//
// MPI_Isend comes back at once and only begins a send; the data belong to MPI until MPI_Wait. Here rank 0 overwrites
// them before that. A single byte has been copied by then and arrives as it was, so a small test finds nothing. A large
// message is fetched when the receiver asks for it, and what it gets is the new data. No call returns an error.
//
// Compile: mpicxx -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/mpi_send_receive/mpi_send_receive_overwrite.cpp common/cookbook/*.cpp -lfmt -o mpi_send_receive_overwrite
// Run:     mpirun -n 2 mpi_send_receive_overwrite
// Symptom: exit 1, prints "1048576 bytes sent, overwritten before MPI_Wait"

#include <algorithm>
#include <vector>

#include "mpi_session.hpp"

namespace {

constexpr int data_tag = 1, note_tag = 2;

/// Rank 0 sends `bytes` times 'a' to rank 1, and writes 'b' over them too early. Rank 1 says how many 'b' arrived.
int new_bytes(int rank, int bytes) {
  std::vector<char> data(static_cast<std::size_t>(bytes), 'a');
  int fresh = 0;
  if (rank == 0) {
    MPI_Request send;
    CHECK_MPI(MPI_Isend(data.data(), bytes, MPI_CHAR, 1, data_tag, MPI_COMM_WORLD, &send));
    std::fill(data.begin(), data.end(), 'b');  // the fault: before MPI_Wait
    CHECK_MPI(MPI_Send(nullptr, 0, MPI_CHAR, 1, note_tag, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Recv(&fresh, 1, MPI_INT, 1, note_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  } else if (rank == 1) {
    CHECK_MPI(MPI_Recv(nullptr, 0, MPI_CHAR, 0, note_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_Recv(data.data(), bytes, MPI_CHAR, 0, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    fresh = static_cast<int>(std::count(data.begin(), data.end(), 'b'));
    CHECK_MPI(MPI_Send(&fresh, 1, MPI_INT, 0, note_tag, MPI_COMM_WORLD));
  }
  return fresh;
}

}  // namespace

int main() {
  const mpi::Session session(2);
  bool spoiled = false;
  for (const int bytes : {1, 1 << 20}) {
    const int fresh = new_bytes(session.rank(), bytes);
    if (session.rank() != 0) continue;
    cookbook::println("{:>7} bytes sent, overwritten before MPI_Wait: {} B of the new data arrived", bytes, fresh);
    spoiled = spoiled || fresh > 0;
  }
  return spoiled ? 1 : 0;
}
